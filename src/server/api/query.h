/*
 * query.h - parameters of requests.
 */
#ifndef SERVER_QUERY_H
#define SERVER_QUERY_H

#include <stdint.h>

struct err;
struct http_request;

/* `path` is the route's, as the table in api.c has it. -EINVAL: a parameter is not what it may be. */
int query_check(const char *path, const struct http_request *r, struct err *err);
int64_t query_number(const char *path, const struct http_request *r, const char *name, int64_t otherwise);

#endif
