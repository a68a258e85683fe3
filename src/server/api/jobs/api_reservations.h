/*
 * api_reservations.h - predicts how a reservation would affect jobs, before it is made.
 */
#ifndef SERVER_API_RESERVATIONS_H
#define SERVER_API_RESERVATIONS_H

#include "rules/object.h"

struct http_request;
struct server;

/* Answers a dry run: which jobs a reservation that is `next` would affect, and how. `refused`: why
 * it can't be made; NULL: it can. */
void reservation_foretell(struct server *s, const struct object *next, struct http_request *r, const char *refused);

#endif
