/*
 * migrate.h - running jobs that are stopped at a checkpoint and continue elsewhere, so that a
 * blocked job can start (sched/migrate.c decides): which jobs may move, the expected cost, and the
 * actual cost.
 *
 * A job may move if its class or the server has move = True, it makes checkpoints, it may run
 * again, and its last checkpoint did not fail. The expected cost is at first the maximum duration
 * of a checkpoint, later the mean cost of the class's moves from stop to start.
 */
#ifndef SERVER_MIGRATE_H
#define SERVER_MIGRATE_H

#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/vec.h"

struct server;

/* Total cost of the moves of a class. */
struct class_moves {
	char *class;
	int64_t n, seconds;
};

typedef VEC(struct class_moves) class_moves_vec;

/* Lets the scheduler move jobs if an attribute allows it; called for a new scheduler, and after
 * changes of attributes. */
void moves_offer(struct server *s);
/* Records the cost of a move when the moved job runs again. */
void move_learn(struct server *s, uint32_t id);
int moves_restore(struct server *s, const char *class, const json_t *o, struct err *err);

#endif
