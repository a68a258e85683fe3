/*
 * api_reservations.h - what a reservation would do to jobs, before it is made.
 */
#ifndef SERVER_API_RESERVATIONS_H
#define SERVER_API_RESERVATIONS_H

#include "rules/object.h"

struct asker;
struct json;
struct server;

/* Members of the open object: the jobs that it would concern, and how. */
void reservation_foretell(struct server *s, const struct object *next, const struct asker *w, struct json *j);

#endif
