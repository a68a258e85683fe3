/*
 * ticks.h - the machine's clocks: CLOCK_MONOTONIC measures durations, CLOCK_BOOTTIME also while the
 * machine sleeps, CLOCK_REALTIME is the wall clock.
 */
#ifndef BASE_TICKS_H
#define BASE_TICKS_H

#include <stdint.h>
#include <time.h>

/* Return a clock's time in microseconds, milliseconds and seconds. */
static inline int64_t clock_us(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static inline int64_t clock_ms(clockid_t id)
{
	return clock_us(id) / 1000;
}

static inline int64_t clock_seconds(clockid_t id)
{
	return clock_us(id) / 1000000;
}

#endif
