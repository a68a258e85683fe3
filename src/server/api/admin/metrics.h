/*
 * metrics.h - metrics of queues, nodes and waiting times, for GET /v1/metrics.
 */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

struct server;
struct strbuf;

void metric_write(struct strbuf *out, const char *name, const char *type, const char *help, double value);
void metrics_write(const struct server *s, struct strbuf *out); /* writes Prometheus text */

#endif
