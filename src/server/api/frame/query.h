/*
 * query.h - parameters of requests.
 */
#ifndef SERVER_QUERY_H
#define SERVER_QUERY_H

#include <stdint.h>

struct call;
struct err;
struct http_request;
struct route;

/* Checks all parameters against the route's table. -EINVAL. */
int query_check(const struct route *route, const struct http_request *r, struct err *err);
/* Returns the number given, otherwise the default of the table, otherwise `none`. */
int64_t query_number(const struct call *c, const char *name, int64_t none);

#endif
