/*
 * api_reservations.h - what a reservation would do to jobs, before it is made.
 */
#ifndef SERVER_API_RESERVATIONS_H
#define SERVER_API_RESERVATIONS_H

#include "rules/object.h"

struct http_request;
struct server;

/* Answers a request that only asks what a reservation that is `next` would do: the jobs that it would concern, and how. `refused` says why it can't be made;
 * NULL: it can. */
void reservation_foretell(struct server *s, const struct object *next, struct http_request *r, const char *refused);

#endif
