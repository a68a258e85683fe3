/*
 * timeline.h - free amounts over time, of one node or of the whole cluster.
 *
 * A timeline is a sorted sequence of steps (time, free amounts). A step holds from its time to that
 * of the next step; the last one holds forever. The first step's time is TIME_BEGIN, and no two
 * neighbours are equal, so the same commitments always produce the same steps. A step has as many
 * amounts as the cluster has dimensions in use: sixteen bytes on a machine with CPUs only.
 */
#ifndef PLAN_TIMELINE_H
#define PLAN_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/res.h"

#define TIME_BEGIN INT64_MIN

/* Consecutive steps. */
struct steps {
	int64_t *v;   /* `n` steps of `stride` numbers each */
	int64_t most; /* amount of the first dimension in the step that has most; exact if there are more parts */
	uint32_t n, cap;
};

struct timeline {
	struct steps first;
	struct steps *more; /* further parts, by time; none of them is empty */
	uint32_t nmore, room;
	uint32_t stride; /* 1 + dimensions */
};

void timeline_init(struct timeline *t, int nres, const struct res *total);
void timeline_fini(struct timeline *t);

/* A walk over the steps; valid until the timeline changes.
 *
 *	for (struct walk w = timeline_walk(t, when); w.step; walk_next(&w))
 */
struct walk {
	const struct timeline *t;
	const int64_t *step, *stop; /* NULL behind the last step; end of the part */
	uint32_t part;
};

/* Position of a step. */
struct step_place {
	uint32_t part, i;
};
struct step_place timeline_search(const struct timeline *t, int64_t when);

/* Returns the index of the step of a part that holds at `when`, which is not before the first
 * one. */
static inline uint32_t steps_find(const struct steps *x, uint32_t stride, int64_t when)
{
	uint32_t lo = 0;

	for (uint32_t len = x->n, half; len > 1; len -= half) {
		half = len / 2; /* branch-free: the compiler makes this a conditional move */
		lo = x->v[(uint64_t)(lo + half) * stride] <= when ? lo + half : lo;
	}
	return lo;
}

/* Moves to the first step of the next part. Returns false after the last part. */
static inline bool walk_part(struct walk *w)
{
	const struct steps *x;

	if (w->part == w->t->nmore) {
		w->step = NULL;
		return false;
	}
	x = &w->t->more[w->part++];
	w->step = x->v;
	w->stop = x->v + (uint64_t)x->n * w->t->stride;
	return true;
}

/* Moves to the next step. Returns false after the last. Inline, as all of this: the walks of
 * searches then stay in registers. */
static inline bool walk_next(struct walk *w)
{
	w->step += w->t->stride;
	return w->step < w->stop || walk_part(w);
}

/* Returns a walk that begins with the step that holds at `when`. */
static inline struct walk timeline_walk(const struct timeline *t, int64_t when)
{
	const struct steps *x = &t->first;
	struct step_place at = {0, 0};

	/* usually `now`, which lies in the first step */
	if (t->nmore == 0 && x->n > 1 && x->v[t->stride] <= when)
		at.i = steps_find(x, t->stride, when);
	else if (x->n < 2 ? t->nmore > 0 : x->v[t->stride] <= when)
		at = timeline_search(t, when);
	x = at.part ? &t->more[at.part - 1] : x;
	return (struct walk){t, x->v + (uint64_t)at.i * t->stride, x->v + (uint64_t)x->n * t->stride, at.part};
}

/* Returns when the next step begins, or TIME_NEVER. */
int64_t walk_until(const struct walk *w);

/* Returns the step that holds at `when`. */
static inline const int64_t *timeline_at(const struct timeline *t, int64_t when)
{
	return timeline_walk(t, when).step;
}

/* Takes `need` away (sign -1) or returns it (sign 1) over [start, end). */
void timeline_change(struct timeline *t, int64_t start, int64_t end, const struct res *need, int sign);

/* Returns true if `need` is free throughout [start, end). */
bool timeline_fits(const struct timeline *t, int64_t start, int64_t end, const struct res *need);

/* Returns until when `need` is free from `start` on; `start`: it is not. */
int64_t timeline_until(const struct timeline *t, int64_t start, const struct res *need);

/* Returns the earliest start >= from at which `need` is free for `length` seconds, or
 * TIME_NEVER. */
int64_t timeline_earliest(const struct timeline *t, int64_t from, int64_t length, const struct res *need);
/* Returns the same if it is before `before`, else TIME_NEVER or some start that is not before
 * it. */
int64_t timeline_earliest_before(const struct timeline *t, int64_t from, int64_t before, int64_t length,
				 const struct res *need);

/* A place earlier than the present one of a job, which needs it until its end or its present
 * start, whichever is first: from there on it holds what it needs itself. */
struct opening {
	struct res need;
	int64_t length, planned;
	int64_t before; /* latest useful start, at most the planned start */
};
/* Returns the earliest such start >= from, or TIME_NEVER. */
int64_t timeline_opening(const struct timeline *t, int64_t from, const struct opening *o);
/* Returns about how many steps lie between two instants, in multiples of many. */
uint32_t timeline_distance(const struct timeline *t, int64_t from, int64_t until);

/* Returns how many copies of `need` fit side by side over [start, end), and, if any, the free
 * CPU-seconds there. */
int64_t timeline_measure(const struct timeline *t, int64_t start, int64_t end, const struct res *need,
			 double *ret_area);

/* Writes the minimum free amounts over [start, end). timeline_most() returns the maximum of the
 * first dimension. */
void timeline_least(const struct timeline *t, int64_t start, int64_t end, struct res *ret);
int64_t timeline_most(const struct timeline *t, int64_t start, int64_t end);

bool timeline_equal(const struct timeline *a, const struct timeline *b);
/* `to` must be initialised with the same stride */
void timeline_copy(struct timeline *to, const struct timeline *from);

#endif
