/*
 * room.c - see room.h. The CPUs that stay free on a node from now on fall step by step; the steps
 * of all nodes together make the result.
 */
#include "sched/room.h"

#include <stdlib.h>

#include "plan/fence.h"
#include "sched/sched_internal.h"

/* An instant at which fewer CPUs of a node are free than before. */
struct drop {
	int64_t at, cpus;
	bool last; /* nothing is left of the node */
};
typedef VEC(struct drop) drop_vec;

static int by_instant(const void *a, const void *b)
{
	const struct drop *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Returns the instant from which a reservation keeps the job out of a node. */
static int64_t fence_begins(const struct sched *s, const struct job *job, uint32_t node)
{
	const struct fence *f = NULL;
	struct res rest;

	if (!plan_has_fences(s->p, job))
		return TIME_NEVER;
	/* After the start of a fence with a part, nothing is promised of the rest. */
	if (plan_passes(s->p, job, node, s->now, TIME_NEVER, &f) &&
	    !plan_rest(s->p, job, node, s->now, TIME_NEVER, &rest, &f))
		return TIME_NEVER;
	return f ? f->start : s->now;
}

/* Returns the CPUs free on a node now, and appends their later decreases to `drops`. */
static int64_t node_drops(struct sched *s, const struct job *job, uint32_t node, drop_vec *drops)
{
	const struct timeline *line = &s->p->node[node].line;
	struct walk w = timeline_walk(line, s->now);
	int64_t least = w.step[1 + RES_CPU], first = least, fence = fence_begins(s, job, node);

	if (least <= 0 || fence <= s->now)
		return 0;
	while (least > 0 && walk_next(&w)) {
		int64_t left = w.step[1 + RES_CPU] > 0 ? w.step[1 + RES_CPU] : 0;
		if (w.step[0] >= fence)
			break;
		if (left >= least)
			continue;
		vec_push(drops, (struct drop){w.step[0], least - left, left == 0});
		least = left;
	}
	if (fence != TIME_NEVER && least > 0)
		vec_push(drops, (struct drop){fence, least, true});
	return first;
}

static void rooms_make(const struct sched *s, const struct job *job, const drop_vec *drops, struct room all,
		       room_vec *ret)
{
	int64_t overhead = sched_overhead(s, job);

	for (size_t i = 0; i < drops->n && all.cpus > 0;) {
		int64_t at = drops->v[i].at;
		all.length = at - s->now - overhead;
		if (all.length > 0)
			vec_push(ret, all);
		for (; i < drops->n && drops->v[i].at == at; i++) {
			all.cpus -= drops->v[i].cpus;
			all.nodes -= drops->v[i].last;
		}
	}
	all.length = TIME_NEVER;
	if (all.cpus > 0)
		vec_push(ret, all);
}

void sched_room(struct sched *s, const struct job *job, const bool *may, room_vec *ret)
{
	struct room all = {0};
	drop_vec drops = {0};

	if (s->drain || (s->backfill == ORDER_NONE && s->head != JOB_NONE))
		return;
	for (uint32_t n = 0; n < s->p->nnodes; n++) {
		int64_t cpus = may[n] && sched_node_open(s, n) ? node_drops(s, job, n, &drops) : 0;
		all.cpus += cpus;
		all.nodes += cpus > 0;
	}
	if (drops.n > 1)
		qsort(drops.v, drops.n, sizeof *drops.v, by_instant);
	rooms_make(s, job, &drops, all, ret);
	vec_free(&drops);
}
