/*
 * move.h - a job that waits goes to another queue.
 */
#ifndef SERVER_MOVE_H
#define SERVER_MOVE_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct err;
struct server;

/* Somebody moves it: to `queue`, or where that routes it. exempt: whatever the queue's limits. */
int job_move(struct server *s, uint32_t id, const char *queue, bool exempt, const char *who, struct arena *a,
	     struct err *err);

/* The routing queue in which it waits has been started: it goes on to the first destination that takes it, or stays if none does. */
void job_route(struct server *s, uint32_t id);

#endif
