/*
 * timeline.h - free amounts over time, of one node or of the whole cluster.
 *
 * A timeline is a sorted array of steps (time, free amounts). A step holds from its time to that of
 * the next step; the last one holds forever. The first step's time is TIME_BEGIN, and no two
 * neighbours are equal, so the same commitments always produce the same bits. A step has as many
 * amounts as the cluster has dimensions in use: sixteen bytes on a machine with CPUs only.
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

/* Returns the index of the step that holds at `when`. timeline_search() is its slow path. */
uint32_t timeline_search(const struct timeline *t, int64_t when);
static inline uint32_t timeline_find(const struct timeline *t, int64_t when)
{
	if (t->n < 2 || t->buf[t->stride] > when) /* usually `now`, which lies in the first step */
		return 0;
	return timeline_search(t, when);
}

/* Takes `need` away (sign -1) or returns it (sign 1) over [start, end). */
void timeline_change(struct timeline *t, int64_t start, int64_t end, const struct res *need, int sign);

/* Returns true if `need` is free throughout [start, end). */
bool timeline_fits(const struct timeline *t, int64_t start, int64_t end, const struct res *need);

/* Returns the earliest start >= from at which `need` is free for `length` seconds, or
 * TIME_NEVER. */
int64_t timeline_earliest(const struct timeline *t, int64_t from, int64_t length, const struct res *need);
/* Returns the same if it is before `before`, else TIME_NEVER or some start that is not before
 * it. */
int64_t timeline_earliest_before(const struct timeline *t, int64_t from, int64_t before, int64_t length,
				 const struct res *need);

/* Returns how many copies of `need` fit side by side over [start, end), and, if any, the free
 * CPU-seconds there. */
int64_t timeline_measure(const struct timeline *t, int64_t start, int64_t end, const struct res *need,
			 double *ret_area);

/* Writes the minimum free amounts over [start, end). */
void timeline_least(const struct timeline *t, int64_t start, int64_t end, struct res *ret);

bool timeline_equal(const struct timeline *a, const struct timeline *b);
/* `to` must be initialised with the same stride */
void timeline_copy(struct timeline *to, const struct timeline *from);

#endif
