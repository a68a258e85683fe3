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

/* -EINVAL: a parameter is not what the route's table allows. */
int query_check(const struct route *route, const struct http_request *r, struct err *err);
/* The number that was given; or what the table says otherwise; or `none`. */
int64_t query_number(const struct call *c, const char *name, int64_t none);

#endif
