/*
 * retention.h - removes jobs from the history when keep_history has passed since their end; the
 * ledger stays.
 *
 * A commit deletes one slice, and the next waits a second, so that years of rows can be removed
 * without delaying other work.
 */
#ifndef SERVER_RETENTION_H
#define SERVER_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

struct server;

/* State of the retention. */
struct retention {
	int64_t keep; /* last known keep_history, seconds; -1: forever */
	int64_t due;  /* time of the next look at the oldest row */
	bool looking; /* a read is running on another thread */
};

void retention_turn(struct server *s);
/* Returns the time of the next action, microseconds; TIME_NEVER: none. */
int64_t retention_next(const struct server *s);

#endif
