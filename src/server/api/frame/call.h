/*
 * call.h - a request on its way to the handler of its route (api.c).
 */
#ifndef SERVER_CALL_H
#define SERVER_CALL_H

#include <jansson.h>

struct asker;
struct http_request;
struct route;
struct server;

struct call {
	const struct route *route;
	struct http_request *r;
	/* user who sent it; NULL: not authenticated, and the route is open to anyone */
	const struct asker *w;
	/* part of the path that matches the '*' of the route; NULL: the route has none */
	const char *name;
	/* checked against the route's table; NULL: the route has no body, or reads it itself */
	json_t *body;
};

/* Answers, now or later. A handler that answers later copies or references what it needs. */
typedef void handler(struct server *s, const struct call *c);

#endif
