/*
 * chores.h - the chores of each turn of the loop, apart from requests and decisions: a table with a
 * row for each, in order of execution.
 *
 * To add a chore, add a row in chores.c. The loop asks the table when it has to wake up.
 */
#ifndef SERVER_CHORES_H
#define SERVER_CHORES_H

#include <stdint.h>

struct server;

/* Stages of a turn with chores, in order. */
enum stage {
	STAGE_DUE,     /* timed chores */
	STAGE_WORK,    /* a slice of the sliced works */
	STAGE_COMMIT,  /* changes that must be part of the commit */
	STAGE_TELL,    /* after the commit is on disk: output may leave */
	STAGE_SETTLED, /* nothing waits for a commit */
};

void chores_do(struct server *s, enum stage stage);
/* Returns the next instant at which the scheduler has to run, in seconds; TIME_NEVER: none. */
int64_t chores_wake(const struct server *s);
/* Returns the next instant at which any other chore is due, in microseconds; TIME_NEVER: none. */
int64_t chores_due_us(const struct server *s);

#endif
