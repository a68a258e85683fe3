/*
 * adapter_internal.h - declarations shared by the files of the adapter.
 */
#ifndef BAG_ADAPTER_INTERNAL_H
#define BAG_ADAPTER_INTERNAL_H

#include "bag/adapter.h"
#include "base/timetext.h"
#include "base/vec.h"

/* Histogram of tasks by how long they took, or ran before they were cut off. Steps are
 * logarithmic, STEPS_OCTAVE per power of two. */
enum { STEPS_OCTAVE = 4, STEPS = 96 };
struct adapter_step {
	int64_t done, cut;
	double sum; /* seconds of the finished ones */
};

struct adapter {
	enum adapter_heuristic heuristic;
	struct adapter_limits limits;
	int64_t began;	     /* when the bag began */
	int64_t reviewed;    /* time of the last decision; -1: none yet */
	int64_t done, cut;   /* number of tasks finished, and cut off */
	int64_t longest;     /* longest finished task, seconds */
	int64_t shortest;    /* shortest finished task, seconds */
	int64_t longest_cut; /* longest time after which a task was cut off, seconds */
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

/* Returns the processors of a request that static would make now; some slot must be open. */
static inline int64_t static_procs(const struct adapter *a, const struct adapter_view *v)
{
	return least(a->limits.procs, ceil_div(v->pending, open_slots(a, v)));
}

static inline int order_submit(struct adapter_order *ret, int n, int64_t procs, int64_t time)
{
	ret[n] = (struct adapter_order){.what = ADAPTER_SUBMIT, .procs = procs, .time = time};
	return n + 1;
}

/* adapter_tasks.c: returns the mean time of a task, seconds. `more` unfinished tasks at workers,
 * which have run for `stay` seconds, are counted in. */
double adapter_mean(const struct adapter *a, int64_t more, int64_t stay);

/* adapter_holes.c: free processors over time, from now on */
/* Copies the view's free spans, starting at now. */
void holes_copy(span_vec *ret, const struct adapter_view *v);
/* Takes processors away over [start, end), or gives them back (procs < 0). */
void holes_take(span_vec *s, int64_t start, int64_t end, int64_t procs);
/* Returns the earliest start of a request; *ret_end: when the hole ends there. */
int64_t holes_earliest(const span_vec *s, int64_t procs, int64_t time, int64_t *ret_end);
/* Lists every free rectangle that begins before the horizon and can't be made longer or wider,
 * cut to the limits; sorted by start, the widest first. */
void holes_list(const span_vec *s, const struct adapter_limits *limits, candidate_vec *ret);
/* Returns the instant from which on the number of free processors no longer changes. */
int64_t holes_horizon(const span_vec *s);

/* adapter_adaptive.c */
int adaptive_decide(struct adapter *a, const struct adapter_view *v, struct adapter_order *ret);
/* adapter_ours.c */
int ours_decide(struct adapter *a, const struct adapter_view *v, struct adapter_order *ret);

#endif
