/*
 * api.h - the functions that answer requests; their table is in routes.c.
 */
#ifndef SERVER_API_H
#define SERVER_API_H

#include <jansson.h>
#include <stdint.h>

#include "server/base/asker.h"
#include "server/job/keys.h"

struct call;
struct http_request;
struct spec;
struct strbuf;

void api_submit(struct server *s, const struct call *c);
void api_tokens(struct server *s, const struct call *c);
void api_token_create(struct server *s, const struct call *c);
void api_token_revoke(struct server *s, const struct call *c);
/* api_overlays.c */
void api_overlays(struct server *s, const struct call *c);
void api_overlay_put(struct server *s, const struct call *c);
void api_overlay_change(struct server *s, const struct call *c);
void api_overlay_delete(struct server *s, const struct call *c);
void api_keeper(struct server *s, const struct call *c);
void api_keeper_change(struct server *s, const struct call *c);
/* api_clusters.c: both answer asynchronously */
void api_clusters(struct server *s, const struct call *c);
void api_cluster_link(struct server *s, const struct call *c);
/* api_simulations.c */
void api_simulations(struct server *s, const struct call *c);
void api_simulation(struct server *s, const struct call *c);
void api_simulate(struct server *s, const struct call *c); /* answers asynchronously */
/* api_sites.c */
void api_sites(struct server *s, const struct call *c);
void api_site_put(struct server *s, const struct call *c);
void api_site_delete(struct server *s, const struct call *c);
void api_withdraw(struct server *s, const struct call *c);
void api_courier_work(struct server *s, const struct call *c);
void api_courier_job(struct server *s, const struct call *c);
void api_courier_report(struct server *s, const struct call *c);
void api_courier_output(struct server *s, const struct call *c);
void api_cluster(struct server *s, const struct call *c);
void api_join(struct server *s, const struct call *c); /* for unauthenticated clients */
void api_login(struct server *s, const struct call *c);
void api_whoami(struct server *s, const struct call *c);
void api_openapi(struct server *s, const struct call *c);
/* Receives a request, and answers it once the user who sent it has been looked up. */
void api_receive(void *context, struct http_request *r);
void api_whatif(struct server *s, const struct call *c);
void api_fairshare(struct server *s, const struct call *c);
void api_hooks(struct server *s, const struct call *c);
void api_hooks_try(struct server *s, const struct call *c); /* answers asynchronously */
void api_priority(struct server *s, const struct call *c);
void api_list(struct server *s, const struct call *c);
void api_get(struct server *s, const struct call *c);
void api_script(struct server *s, const struct call *c);
void api_submission(struct server *s, const struct call *c);
void api_again(struct server *s, const struct call *c);
void api_elements(struct server *s, const struct call *c);
void api_job_events(struct server *s, const struct call *c);
void api_job_usage(struct server *s, const struct call *c);
void usage_turn(struct server *s); /* serves readers of jobs that have new samples or have ended */
void api_why(struct server *s, const struct call *c);
void api_action(struct server *s, const struct call *c);
void api_action_unknown(struct server *s, const struct call *c);
void api_alter_one(struct server *s, const struct call *c); /* handled as an action on one job */
void api_delete_one(struct server *s, const struct call *c);
void api_order(struct server *s, const struct call *c);
void api_place(struct server *s, const struct call *c);
void api_server(struct server *s, const struct call *c);
void api_server_log(struct server *s, const struct call *c);
void api_audit(struct server *s, const struct call *c);
void api_site(struct server *s, const struct call *c);
void api_server_change(struct server *s, const struct call *c);
/* The route determines the kind of object. */
/* Returns the object that the path names; NULL: the request was answered. */
struct object *api_object_find(struct server *s, const struct call *c);
void api_objects(struct server *s, const struct call *c);
void api_object(struct server *s, const struct call *c);
void api_object_create(struct server *s, const struct call *c);
void api_object_change(struct server *s, const struct call *c);
void api_object_delete(struct server *s, const struct call *c);
void api_partitions(struct server *s, const struct call *c);
void api_partition(struct server *s, const struct call *c);
void api_queues(struct server *s, const struct call *c);
void api_queue(struct server *s, const struct call *c);
void api_queue_create(struct server *s, const struct call *c);
void api_queue_change(struct server *s, const struct call *c);
void api_queue_delete(struct server *s, const struct call *c);
void api_attributes(struct server *s, const struct call *c);
void api_metrics(struct server *s, const struct call *c);
void api_shutdown(struct server *s, const struct call *c);
void api_nodes(struct server *s, const struct call *c);
void api_node(struct server *s, const struct call *c);
void api_node_change(struct server *s, const struct call *c);
void api_node_remove(struct server *s, const struct call *c);
void cluster_sum(const struct server *s, int64_t *ret_nodes, int64_t *ret_cpus, int64_t *ret_used);
void nodes_metrics(const struct server *s, struct strbuf *out);
void api_plan(struct server *s, const struct call *c);
void api_log(struct server *s, const struct call *c);
void api_history(struct server *s, const struct call *c);
/* Answers for a job that the server does not know: from the history, or 404. */
void api_past_job(struct server *s, struct http_request *r, const struct asker *w, const char *id);
void api_history_sums(struct server *s, const struct call *c);
void api_usage(struct server *s, const struct call *c);

#endif
