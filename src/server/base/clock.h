/*
 * clock.h - the server's clock.
 */
#ifndef SERVER_CLOCK_H
#define SERVER_CLOCK_H

#include <stdint.h>
#include <time.h>

struct server;

struct clock {
	int64_t now, now_us; /* wall clock, never going back */
	int64_t skew;	     /* seconds that the machine's clock is behind ours */
	int64_t boot_us;     /* the monotonic clock at now_us */
};

int64_t clock_us(clockid_t id); /* one of the machine's */
void clock_read(struct server *s);
/* Returns the end of a wait from `began` to `until` (0: none). They were read from the clock of the server that led
 * then: if that was ahead of ours, so that the wait would begin in the future, it begins now. */
int64_t clock_until(const struct server *s, int64_t began, int64_t until);

#endif
