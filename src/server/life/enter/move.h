/*
 * move.h - a job that waits goes to another queue.
 */
#ifndef SERVER_MOVE_H
#define SERVER_MOVE_H

#include <stdint.h>

struct arena;
struct err;
struct server;

enum mover {
	MOVER_OWNER,	   /* or somebody in his place: as if he submitted it there */
	MOVER_COORDINATOR, /* of the queue: whoever may submit to it */
	MOVER_OPERATOR,	   /* and whatever its limits */
};

/* Somebody moves it: to `queue`, or where that routes it. */
int job_move(struct server *s, uint32_t id, const char *queue, enum mover by, const char *who, struct arena *a,
	     struct err *err);

/* The routing queue in which it waits has been started: it goes on to the first destination that takes it, or stays if none does. */
void job_route(struct server *s, uint32_t id);

#endif
