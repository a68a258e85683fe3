/*
 * api.h - the functions that answer requests; their table is in routes.c.
 */
#ifndef SERVER_API_H
#define SERVER_API_H

#include <stdint.h>

#include "server/api/frame/call.h"
#include "server/base/asker.h"
#include "server/job/keys.h"

struct http_request;
struct object;
struct strbuf;

/* Receives a request, and answers it once the user who sent it has been looked up. */
void api_receive(void *context, struct http_request *r);
handler api_openapi;

/* jobs/ */
handler api_submit, api_whatif, api_again, api_submission; /* submissions */
handler api_list, api_get, api_script, api_elements, api_job_events, api_why;
handler api_job_usage;
void usage_turn(struct server *s); /* serves readers of jobs that have new samples or have ended */
handler api_action, api_action_unknown;
handler api_alter_one, api_delete_one; /* handled as an action on one job */
handler api_order, api_place;

/* admin/ */
handler api_server, api_server_change, api_server_log, api_site, api_cluster, api_attributes, api_metrics, api_shutdown;
handler api_queues, api_queue, api_queue_create, api_queue_change, api_queue_delete;
handler api_nodes, api_node, api_node_change, api_node_remove, api_plan;
void cluster_sum(const struct server *s, int64_t *ret_nodes, int64_t *ret_cpus, int64_t *ret_used);
void nodes_metrics(const struct server *s, struct strbuf *out, int64_t *ret_cpus, int64_t *ret_used);
/* The route determines the kind of object. */
handler api_objects, api_object, api_object_create, api_object_change, api_object_delete;
/* Returns the object that the path names; NULL: the request was answered. */
struct object *api_object_find(struct server *s, const struct call *c);
handler api_partitions, api_partition;
handler api_hooks, api_hooks_try;		       /* the second answers later */
handler api_simulations, api_simulation, api_simulate; /* the last answers later */
handler api_priority, api_log;

/* books/ */
handler api_audit, api_fairshare, api_usage, api_history, api_history_sums;
/* Answers for a job that the server does not know: from the history, or 404. */
void api_past_job(struct server *s, struct http_request *r, const struct asker *w, const char *id);

/* peers/ */
handler api_tokens, api_token_create, api_token_revoke, api_whoami;
handler api_templates, api_template, api_template_put, api_template_delete;
handler api_join, api_login; /* for unauthenticated clients */
handler api_overlays, api_overlay_put, api_overlay_change, api_overlay_delete, api_keeper, api_keeper_change;
handler api_clusters, api_cluster_link; /* answer later */
handler api_sites, api_site_put, api_site_delete, api_withdraw;
handler api_courier_work, api_courier_job, api_courier_report, api_courier_output;

#endif
