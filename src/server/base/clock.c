/*
 * clock.c - see clock.h.
 */
#include "server/base/clock.h"

#include <stdlib.h>

#include "base/ticks.h"
#include "server/base/log.h"
#include "server/server.h"

#define SKEW_MIN 2 /* clock difference, in seconds, that is logged */

int64_t clock_until(const struct server *s, int64_t began, int64_t until)
{
	return until && began > s->clock->now ? s->clock->now + (until - began) : until;
}

/* Reads the clocks. Our clock follows the machine's forward but never back: then it continues at
 * its own pace until the machine's has caught up or the server is restarted. */
void clock_read(struct server *s)
{
	int64_t wall = clock_us(CLOCK_REALTIME), boot = clock_us(CLOCK_BOOTTIME), passed = boot - s->clock->boot_us;
	int64_t expected = s->clock->now_us + (s->clock->boot_us ? passed : 0), skew;

	s->clock->boot_us = boot;
	s->clock->now_us = wall > expected ? wall : expected;
	s->clock->now = s->clock->now_us / 1000000;
	skew = (s->clock->now_us - wall) / 1000000;
	if (wall - expected > SKEW_MIN * 1000000 && expected > 0)
		server_log(s, SEVERITY_WARNING, "the clock was set forward by %lld s",
			   (long long)((wall - expected) / 1000000));
	if (skew != s->clock->skew && (skew >= SKEW_MIN || s->clock->skew >= SKEW_MIN) &&
	    llabs(skew - s->clock->skew) >= SKEW_MIN)
		server_log(
			s, skew >= SKEW_MIN ? SEVERITY_WARNING : SEVERITY_NOTICE,
			skew >= SKEW_MIN
				? "the clock was set back: Shunt's clock is %lld s ahead until the system's catches up or the server is restarted"
				: "the clock has caught up (%lld s)",
			(long long)skew);
	s->clock->skew = skew;
}
