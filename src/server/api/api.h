/*
 * api.h - the functions that answer requests: the table is in api.c.
 */
#ifndef SERVER_API_H
#define SERVER_API_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/base/asker.h"
#include "server/job/keys.h"
#include "server/site/who.h"

struct http_request;
struct spec;
struct strbuf;

bool submit_repeats(struct server *s, struct http_request *r, const struct asker *w);
/* The header of a request: 1 with the key, 0: there is none, -EINVAL. */
int subkey_given(struct http_request *r, char ret[KEY_MAX + 1], struct err *err);
uint64_t
request_print(const struct http_request *r); /* a hash of its body, and of its path unless it is a submission */
json_t *api_body(struct http_request *r, struct err *err); /* NULL: the sentence is set */
int api_status(const char *code);
void scratch_fill(struct server *s, const struct spec *p); /* as if it were to be submitted now */
void api_submit(struct server *s, struct http_request *r, const struct asker *w);
void api_tokens(struct server *s, struct http_request *r, const struct asker *w, const char *id);
void api_join(struct server *s, struct http_request *r); /* without an asker */
void api_login(struct server *s, struct http_request *r);
void api_whoami(struct server *s, struct http_request *r, const struct asker *w);
void api_handle(void *context, struct http_request *r);
void refuse_asker(struct http_request *r, int rc, const struct err *err); /* what who_asks() returned */
void api_whatif(struct server *s, struct http_request *r, const struct asker *w);
void api_list(struct server *s, struct http_request *r, const struct asker *w);
void api_get(struct server *s, struct http_request *r, const struct asker *w, const char *id);
void api_script(struct server *s, struct http_request *r, const struct asker *w, const char *id);
void api_history(struct server *s, struct http_request *r, const struct asker *w, const char *id);
void api_why(struct server *s, struct http_request *r, const struct asker *w, const char *id);
void api_action(struct server *s, struct http_request *r, const struct asker *w, const char *action);
void api_one(struct server *s, struct http_request *r, const struct asker *w, const char *action, const char *id);
void api_order(struct server *s, struct http_request *r, const struct asker *w);
void api_server(struct server *s, struct http_request *r, const struct asker *w);
void api_queues(struct server *s, struct http_request *r, const struct asker *w, const char *name);
bool api_need(struct http_request *r, const struct asker *w, enum role role); /* false: it was answered */
void api_attributes(struct server *s, struct http_request *r, const struct asker *w);
void api_metrics(struct server *s, struct http_request *r, const struct asker *w);
void api_shutdown(struct server *s, struct http_request *r, const struct asker *w);
void api_nodes(struct server *s, struct http_request *r, const struct asker *w, const char *name);
void cluster_sum(const struct server *s, int64_t *ret_nodes, int64_t *ret_cpus, int64_t *ret_used);
void nodes_metrics(const struct server *s, struct strbuf *out);
void api_plan(struct server *s, struct http_request *r, const struct asker *w);
void api_log(struct server *s, struct http_request *r, const struct asker *w);
void api_past(struct server *s, struct http_request *r, const struct asker *w);
/* A job that the server does not know: from the history, or 404. */
void api_past_job(struct server *s, struct http_request *r, const struct asker *w, const char *id);
void api_past_sums(struct server *s, struct http_request *r, const struct asker *w);
void api_usage(struct server *s, struct http_request *r, const struct asker *w);

#endif
