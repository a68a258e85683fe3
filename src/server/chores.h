/*
 * chores.h - what the server does in each turn of its loop besides requests and decisions: a table with a row for each chore, in the order
 * in which they are done.
 *
 * To add a chore: a row in chores.c. The loop asks the table when it has to wake up.
 */
#ifndef SERVER_CHORES_H
#define SERVER_CHORES_H

#include <stdint.h>

struct server;

/* Stages of a turn that have chores, in their order. */
enum stage {
	STAGE_DUE,     /* what is due by time */
	STAGE_WORK,    /* a slice of what is done in slices */
	STAGE_COMMIT,  /* what has to be part of the commit */
	STAGE_TELL,    /* the commit is on disk: what may leave now */
	STAGE_SETTLED, /* and nothing else waits for a commit */
};

void chores_do(struct server *s, enum stage stage);
/* Returns the next instant at which the scheduler has to look, in seconds; TIME_NEVER: none. */
int64_t chores_wake(const struct server *s);
/* Returns the next instant at which any other chore has something to do, in microseconds; TIME_NEVER: none. */
int64_t chores_due_us(const struct server *s);

#endif
