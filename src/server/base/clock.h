/*
 * clock.h - the server's clock.
 */
#ifndef SERVER_CLOCK_H
#define SERVER_CLOCK_H

#include <stdint.h>

struct server;

struct clock {
	int64_t now, now_us; /* wall clock; never goes back */
	int64_t skew;	     /* seconds by which the machine's clock is behind ours */
	int64_t boot_us;     /* monotonic clock at now_us */
};

void clock_read(struct server *s);
/* Returns the end of a wait from `began` to `until` (0: none). Both were read from the clock of
 * the server that led then. If that clock was ahead of ours and the wait would begin in the
 * future, it begins now. */
int64_t clock_until(const struct server *s, int64_t began, int64_t until);

#endif
