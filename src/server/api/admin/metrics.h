/*
 * metrics.h - metrics of queues, nodes and waiting times, for GET /v1/metrics.
 */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include <stdbool.h>

struct http_request;
struct server;
struct strbuf;

void metric_write(struct strbuf *out, const char *name, const char *type, const char *help, double value);
void metrics_write(const struct server *s, struct strbuf *out); /* writes Prometheus text */
/* Replies with `sums`, which it empties, and then, if requested, the lines of all nodes. */
void metrics_send(const struct server *s, struct http_request *r, struct strbuf *sums, bool nodes);

#endif
