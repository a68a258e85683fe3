/*
 * timeline.h - what is free over time, of one node or of the whole cluster.
 *
 * A sorted array of steps (time, free amounts); a step holds from its time to the next one's, the last for ever. The
 * first step's time is TIME_BEGIN, and no two neighbours are equal, so that the same commitments always give the same
 * bits. A step has as many amounts as the cluster has dimensions in use: sixteen bytes on a machine of CPUs alone.
 */
#ifndef PLAN_TIMELINE_H
#define PLAN_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/res.h"

#define TIME_BEGIN INT64_MIN

struct timeline {
	int64_t *buf; /* steps of `stride` numbers each */
	uint32_t n, cap;
	uint32_t stride; /* 1 + dimensions */
};

void timeline_init(struct timeline *t, int nres, const struct res *total);
void timeline_fini(struct timeline *t);

static inline int64_t *timeline_step(const struct timeline *t, uint32_t i)
{
	return t->buf + (uint64_t)i * t->stride;
}

/* The step that holds at `when`; timeline_search() is its second half. */
uint32_t timeline_search(const struct timeline *t, int64_t when);
static inline uint32_t timeline_find(const struct timeline *t, int64_t when)
{
	if (t->n < 2 || t->buf[t->stride] > when) /* mostly `now`, which is in the first step */
		return 0;
	return timeline_search(t, when);
}

/* Takes `need` away (sign -1) or gives it back (sign 1) over [start, end). */
void timeline_change(struct timeline *t, int64_t start, int64_t end, const struct res *need, int sign);

/* Whether `need` is free at every instant of [start, end). */
bool timeline_fits(const struct timeline *t, int64_t start, int64_t end, const struct res *need);

/* The earliest start >= from at which `need` is free for `length` seconds; TIME_NEVER if there is none. */
int64_t timeline_earliest(const struct timeline *t, int64_t from, int64_t length, const struct res *need);
/* The same, if it is before `before`; else TIME_NEVER or some start that is not. */
int64_t timeline_earliest_before(const struct timeline *t, int64_t from, int64_t before, int64_t length,
				 const struct res *need);

/* How many copies of `need` fit side by side over [start, end), and (if any) the free CPU-seconds there. */
int64_t timeline_measure(const struct timeline *t, int64_t start, int64_t end, const struct res *need,
			 double *ret_area);

/* Most of `need`'s kind that stays free over [start, end): the least free amounts. */
void timeline_least(const struct timeline *t, int64_t start, int64_t end, struct res *ret);

bool timeline_equal(const struct timeline *a, const struct timeline *b);
void timeline_copy(struct timeline *to, const struct timeline *from); /* `to` initialised, of the same stride */

#endif
