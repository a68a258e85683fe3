/*
 * adapter_internal.h - what the files of the adapter share.
 */
#ifndef BAG_ADAPTER_INTERNAL_H
#define BAG_ADAPTER_INTERNAL_H

#include "bag/adapter.h"
#include "base/timetext.h"
#include "base/vec.h"

/* Tasks by how long they took, or were there until they were cut off: in steps, so many for each power of two. */
enum { STEPS_OCTAVE = 4, STEPS = 96 };
struct adapter_step {
	int64_t done, cut;
	double sum; /* seconds of those that are done */
};

struct adapter {
	enum adapter_heuristic heuristic;
	struct adapter_limits limits;
	int64_t began;	     /* when the bag did */
	int64_t reviewed;    /* when it decided last; -1: it never did */
	int64_t done, cut;   /* tasks that finished, and that were cut off */
	int64_t longest;     /* of those that finished, seconds */
	int64_t shortest;    /* ... */
	int64_t longest_cut; /* of those that were cut off */
	struct adapter_step step[STEPS];
};

/* A request that could be made. */
struct candidate {
	int64_t start, procs, time;
};
typedef VEC(struct candidate) candidate_vec;
typedef VEC(struct adapter_span) span_vec;

static inline int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}
static inline int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}
static inline int64_t ceil_div(int64_t a, int64_t b)
{
	return a / b + (a % b > 0);
}

static inline int open_slots(const struct adapter *a, const struct adapter_view *v)
{
	return a->limits.requests > (int)v->nrequests ? a->limits.requests - (int)v->nrequests : 0;
}

static inline int order_submit(struct adapter_order *ret, int n, int64_t procs, int64_t time)
{
	ret[n] = (struct adapter_order){.what = ADAPTER_SUBMIT, .procs = procs, .time = time};
	return n + 1;
}

/* adapter_tasks.c: what a task takes on average, in seconds; `more` tasks are at workers besides, which have been there for `stay` seconds */
double adapter_mean(const struct adapter *a, int64_t more, int64_t stay);

/* adapter_holes.c: free processors over time, from now on */
/* A copy of the view's, which begins at now. */
void holes_copy(span_vec *ret, const struct adapter_view *v);
/* Takes processors away over [start, end), or gives them back (procs < 0). */
void holes_take(span_vec *s, int64_t start, int64_t end, int64_t procs);
/* The earliest start of a request; *ret_end: until when it could last there. */
int64_t holes_earliest(const span_vec *s, int64_t procs, int64_t time, int64_t *ret_end);
/* Every free rectangle that begins before the horizon and can't be made longer or wider, cut to the limits; by its start, the widest first. */
void holes_list(const span_vec *s, const struct adapter_limits *limits, candidate_vec *ret);
/* From when on all that is ever free is free. */
int64_t holes_horizon(const span_vec *s);

/* adapter_adaptive.c */
int adaptive_decide(struct adapter *a, const struct adapter_view *v, struct adapter_order *ret);
/* adapter_ours.c */
int ours_decide(struct adapter *a, const struct adapter_view *v, struct adapter_order *ret);

#endif
