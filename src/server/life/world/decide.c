/* decide.c - runs the scheduler and settles the consequences. */
#include <stdint.h>

#include "base/ticks.h"
#include "rules/attr.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/base/stats.h"
#include "server/base/turn.h"
#include "server/base/work.h"
#include "server/book/credits.h"
#include "server/life/world/decide.h"
#include "server/life/world/dispatch.h"
#include "server/server.h"

#define PACE 30000 /* nodes a cycle looks at in one turn: some milliseconds */

/* Returns true if jobs may be started: scheduling is on, and no shutdown is under way. */
static bool decide_may(const struct server *s)
{
	return attrs_bool(s->attrs, SET_SCHEDULING) && !s->turn->terminating && !s->turn->emptying &&
	       !s->slices->queue_stops;
}

void scheduler_decide(struct server *s)
{
	int64_t begin = clock_us(CLOCK_MONOTONIC), took;

	if (s->turn->merging || !decide_may(s))
		return;
	dispatch_overruns(s); /* a request may be handled before the turn has noticed a due end */
	sched_pace(s->sched, s->slices->slice_steps ? (uint64_t)s->slices->slice_steps : PACE);
	s->turn->undecided = !sched_cycle(s->sched, s->clock->now);
	s->turn->cycled = true;
	took = clock_us(CLOCK_MONOTONIC) - begin;
	s->stats->cycle_us = took;
	s->stats->cycles_us += took;
	if (took > s->stats->max_cycle_us)
		s->stats->max_cycle_us = took;
}

void turn_decide(struct server *s)
{
	credits_turn(s);
	if (s->turn->merging) {
		dispatch_settle(s);
		return;
	}
	for (int i = 0; i < 8; i++) { /* an end may end other jobs, and free room for more starts */
		dispatch_settle(s);
		if (!s->turn->dirty)
			break;
		s->turn->dirty = false;
		if (!decide_may(s))
			s->turn->undecided = false;
		else if (!s->turn->undecided || (!s->slices->sliced && !s->turn->cycled))
			scheduler_decide(s);
		if (s->turn->undecided)
			break;
	}
	s->turn->cycled = false;
	dispatch_settle(s);
	dispatch_starts(s);
	dispatch_settle(s);
}
