/*
 * call.h - a request on its way to the handler of its route (api.c).
 */
#ifndef SERVER_CALL_H
#define SERVER_CALL_H

struct asker;
struct http_request;
struct server;

struct call {
	struct http_request *r;
	const struct asker *w; /* who asks; NULL: nobody knows, and the route is for anyone */
	const char *name;      /* what stands for the '*' of the route's path; NULL: there is none */
};

/* Answers, now or later: what it needs then it copies. */
typedef void (*handler)(struct server *s, const struct call *c);

#endif
