/*
 * turn.c - see turn.h.
 */
#include "server/base/turn.h"

#include <string.h>

#include "base/ticks.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/stats.h"
#include "server/server.h"

/* parts shorter than this are not separated: reading the CPU clock is a system call */
#define MOMENT_US 200
#define LONG_TURN_US 50000 /* limit for a turn, during which no client is answered */

/* Wakes the scheduler after input other than a request, perhaps after a long sleep. A turn
 * follows every poll. */
void turn_wake(struct server *s)
{
	clock_read(s);
	s->turn->dirty = true;
}

const char *turn_part_name(enum turn_part part)
{
	static const char *const names[TURN_PARTS] = {"calls", "due", "works", "decide", "commit", "tell"};

	return names[part];
}

void turn_spent(struct server *s, enum turn_part part)
{
	int64_t now = clock_us(CLOCK_MONOTONIC), cpu;

	if (now - s->turn->held.read_us < MOMENT_US)
		return;
	cpu = clock_us(CLOCK_THREAD_CPUTIME_ID);
	s->turn->held.parts_us[part] += cpu - s->turn->held.part_us;
	s->turn->held.part_us = cpu;
	s->turn->held.read_us = now;
}

/* Computes how long other clients could not be served: the time since the last poll, except the
 * wait in it. On a busy machine, processor time shows the server's own work, and elapsed time
 * the delay of clients. */
void turn_count(struct server *s)
{
	int64_t idle = (int64_t)(uv_metrics_idle_time(s->loop) / 1000), now = clock_us(CLOCK_MONOTONIC);
	int64_t held = now - s->turn->held.at_us - (idle - s->turn->held.idle_us), worked;

	turn_spent(s, TURN_CALLS);
	worked = s->turn->held.part_us - s->turn->held.cpu_us;
	s->turn->held.at_us = now;
	s->turn->held.idle_us = idle;
	s->turn->held.cpu_us = s->turn->held.part_us;
	if (held > LONG_TURN_US) {
		s->stats->long_turns++;
		server_log(s, SEVERITY_DEBUG, "a turn took %lld ms", (long long)(held / 1000));
	}
	if (held > s->stats->turn_max_us)
		s->stats->turn_max_us = held;
	if (worked > s->stats->turn_cpu_max_us) {
		s->stats->turn_cpu_max_us = worked;
		memcpy(s->stats->turn_parts_us, s->turn->held.parts_us, sizeof s->stats->turn_parts_us);
	}
	memset(s->turn->held.parts_us, 0, sizeof s->turn->held.parts_us);
}
