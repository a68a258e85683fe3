/*
 * adapter.c - names of the heuristics, times of their decisions, and the two simple heuristics.
 */
#include "bag/adapter.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "bag/adapter_internal.h"

#define FIRST_GUESS 600 /* seconds */
#define REVIEW_EVERY 60 /* minimum seconds between reviews */
/* minimum pause as a share of the bag's age: an old bag need not be reviewed every minute */
#define REVIEW_SHARE 0.05

static const char *const names[ADAPTER_HEURISTICS] = {
	[ADAPTER_STATIC] = "static",	   [ADAPTER_STATIC_MAX] = "static-max",
	[ADAPTER_INITIAL] = "initial",	   [ADAPTER_AS_PRINTED] = "adaptive-as-printed",
	[ADAPTER_ADAPTIVE] = "adaptive",   [ADAPTER_MIXED] = "mixed",
	[ADAPTER_MIXED_MAX] = "mixed-max", [ADAPTER_OURS] = "ours",
};

const char *adapter_name(enum adapter_heuristic h)
{
	return names[h];
}

int adapter_find(const char *name, enum adapter_heuristic *ret, struct err *err)
{
	for (int i = 0; i < ADAPTER_HEURISTICS; i++)
		if (strcmp(name, names[i]) == 0) {
			*ret = (enum adapter_heuristic)i;
			return 0;
		}
	return err_set(err, -EINVAL,
		       "%s: not a heuristic (use static, static-max, initial, adaptive-as-printed, adaptive, mixed, "
		       "mixed-max or ours)",
		       name);
}

struct adapter *adapter_create(enum adapter_heuristic h, const struct adapter_limits *limits, int64_t now)
{
	struct adapter *a = mem_zalloc(sizeof *a);

	assert(limits->requests >= 1 && limits->requests <= ADAPTER_REQUESTS && limits->procs >= 1 &&
	       limits->time >= 1);
	a->heuristic = h;
	adapter_limit(a, limits);
	a->began = now;
	a->reviewed = -1;
	return a;
}

void adapter_limit(struct adapter *a, const struct adapter_limits *limits)
{
	a->limits = *limits;
	if (a->limits.first_guess <= 0)
		a->limits.first_guess = FIRST_GUESS;
}

void adapter_destroy(struct adapter *a)
{
	free(a);
}

/* Estimates like congestion control: a little above the longest success, twice the longest
 * failure. */
int64_t adapter_estimate(const struct adapter *a)
{
	int64_t e = most(ceil_div(a->longest * 11, 10), 2 * a->longest_cut);

	if (!a->done && !a->cut)
		e = a->limits.first_guess;
	return most(1, least(e, a->limits.time));
}

bool adapter_worth_starting(const struct adapter *a, int64_t left)
{
	if (left <= 0)
		return false;
	return a->heuristic != ADAPTER_OURS || !a->done || left >= a->shortest;
}

bool adapter_reviews(const struct adapter *a)
{
	return a->heuristic == ADAPTER_OURS;
}

int64_t adapter_next(const struct adapter *a, int64_t now)
{
	if (!adapter_reviews(a) || a->reviewed < 0)
		return TIME_NEVER;

	int64_t pause = most(REVIEW_EVERY, (int64_t)(REVIEW_SHARE * (double)(a->reviewed - a->began)));

	return most(now, a->reviewed + pause);
}

static int static_decide(const struct adapter *a, const struct adapter_view *v, struct adapter_order *ret)
{
	int slots = open_slots(a, v), n = 0;

	while (n < slots)
		n = order_submit(ret, n, a->heuristic == ADAPTER_STATIC ? static_procs(a, v) : a->limits.procs,
				 a->limits.time);
	return n;
}

/* Requests one task's time per slot; the first request takes what is free now, for as long as it
 * is free. */
static int initial_decide(const struct adapter *a, const struct adapter_view *v, struct adapter_order *ret)
{
	int slots = open_slots(a, v), n = 0;
	int64_t e = adapter_estimate(a), procs = most(1, a->limits.procs / most(1, v->queued)), free_now = 0, until = 0;

	for (size_t i = 0; i < v->nfree; i++)
		if (v->free[i].end > v->now) {
			free_now = free_now ? least(free_now, v->free[i].procs) : v->free[i].procs;
			until = v->free[i].end;
			if (until - v->now >= e)
				break;
		}
	if (slots && !a->done && !a->cut && v->nrequests == 0 && free_now > 0) {
		int64_t p = least(least(free_now, a->limits.procs), v->pending);
		n = order_submit(ret, n, p, least(a->limits.time, most(e, least(until - v->now, a->limits.time))));
	}
	while (n < slots)
		n = order_submit(ret, n, least(procs, v->pending), e);
	return n;
}

int adapter_decide(struct adapter *a, const struct adapter_view *v, struct adapter_order *ret)
{
	int n = 0;

	if (v->pending > 0) {
		switch (a->heuristic) {
		case ADAPTER_STATIC:
		case ADAPTER_STATIC_MAX:
			n = static_decide(a, v, ret);
			break;
		case ADAPTER_INITIAL:
			n = initial_decide(a, v, ret);
			break;
		case ADAPTER_AS_PRINTED:
		case ADAPTER_ADAPTIVE:
		case ADAPTER_MIXED:
		case ADAPTER_MIXED_MAX:
			n = adaptive_decide(a, v, ret);
			break;
		case ADAPTER_OURS:
			n = ours_decide(a, v, ret);
			break;
		case ADAPTER_HEURISTICS:
			break;
		}
	}
	a->reviewed = v->now;
	return n;
}
