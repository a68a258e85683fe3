/*
 * migrate.h - running jobs that are stopped at a checkpoint and go on elsewhere, so that a blocked one can start (sched/migrate.c decides): which may be, what it
 * costs, and what it has cost.
 *
 * Only jobs of a class, or a server, with move = True that make checkpoints, may be run again and have not failed to make their last one. The cost is at first what a checkpoint may take at most; then the mean of what moves of the class have cost, from the stop to the start.
 */
#ifndef SERVER_MIGRATE_H
#define SERVER_MIGRATE_H

#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/vec.h"

struct server;

/* What moves of a class have cost: all of them together. */
struct class_moves {
	char *class;
	int64_t n, seconds;
};

typedef VEC(struct class_moves) class_moves_vec;

void moves_offer(struct server *s); /* the scheduler has begun, or an attribute has changed */
/* A job runs: if it was moved, it goes on. */
void move_learn(struct server *s, uint32_t id);
int moves_restore(struct server *s, const char *class, const json_t *o, struct err *err);

#endif
