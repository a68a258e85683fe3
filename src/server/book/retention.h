/*
 * retention.h - jobs leave the history when keep_history has passed since their end; the ledger stays.
 *
 * A little at a time: a commit deletes a slice, and the next one waits a second, so that years of rows can go without anybody waiting for them.
 */
#ifndef SERVER_RETENTION_H
#define SERVER_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

struct server;

/* What the server has of it. */
struct retention {
	int64_t keep; /* seconds that were last heard of; -1: for ever */
	int64_t due;  /* when the oldest row is looked at again */
	bool looking; /* on another thread */
};

void retention_turn(struct server *s);
int64_t retention_next(const struct server *s); /* microseconds: when there is something to do; TIME_NEVER */

#endif
