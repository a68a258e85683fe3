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
	const struct asker *w; /* who asks; NULL: nobody knows, and the route is for anyone */
	const char *name;      /* what stands for the '*' of the route's path; NULL: there is none */
	json_t *body;	       /* as the route's table allows; NULL: the route has none, or reads it itself */
};

/* Answers, now or later: what it needs then it copies, or takes a reference to. */
typedef void (*handler)(struct server *s, const struct call *c);

#endif
