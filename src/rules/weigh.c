/*
 * weigh.c - see weigh.h.
 */
#include "rules/weigh.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

#define RANK_OF_PRIORITY 60.0 /* seconds of rank per point of a queue's priority */

double weigh_rank(const struct attrs *queue, double submitted)
{
	return queue ? submitted - RANK_OF_PRIORITY * (double)attrs_number(queue, SET_PRIORITY) : submitted;
}

double weigh_moved(const struct attrs *from, const struct attrs *to, double rank)
{
	return weigh_rank(to, rank) - weigh_rank(from, 0);
}

static int rank_cmp(const void *a, const void *b)
{
	const struct rung *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static int priority_cmp(const void *a, const void *b)
{
	const struct rung *x = a, *y = b;

	return x->priority != y->priority ? (x->priority > y->priority ? -1 : 1) : rank_cmp(a, b);
}

void weigh_share(struct rung *v, size_t n)
{
	double *ranks;

	if (n < 2)
		return;
	ranks = mem_alloc(n * sizeof *ranks);
	qsort(v, n, sizeof *v, rank_cmp);
	for (size_t i = 0; i < n; i++)
		ranks[i] = v[i].rank;
	qsort(v, n, sizeof *v, priority_cmp);
	for (size_t i = 0; i < n; i++)
		v[i].rank = ranks[i];
	free(ranks);
}

static int64_t micro(double rank)
{
	return llround(rank * 1e6);
}

/* Moves the jobs behind `after` to the start of the array, sorted. Returns their number. */
static size_t behind(struct rung *others, size_t n, const struct rung *after)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (rank_cmp(&others[i], after) > 0)
			others[kept++] = others[i];
	if (kept)
		qsort(others, kept, sizeof *others, rank_cmp);
	return kept;
}

size_t weigh_insert(struct rung *others, size_t n, const struct rung *after, struct rung *moved, size_t k, double last)
{
	const struct rung *next = NULL, from = after ? *after : (struct rung){0};
	size_t pushed = 0;

	for (size_t i = 0; i < n; i++)
		if ((!after || rank_cmp(&others[i], after) > 0) && (!next || rank_cmp(&others[i], next) < 0))
			next = &others[i];
	if (!after) {
		for (size_t i = 0; i < k && next; i++)
			moved[i].rank = next->rank - (double)(k - i);
		return 0;
	}

	int64_t low = micro(from.rank), high = micro(next ? next->rank : last), room = (int64_t)k + 1;

	if (!next && high - low < room)
		high = low + room;
	if (high - low >= room) {
		for (size_t i = 0; i < k; i++)
			moved[i].rank = (double)(low + (high - low) / room * ((int64_t)i + 1)) / 1e6;
		return 0;
	}
	for (size_t i = 0; i < k; i++)
		moved[i].rank = (double)++low / 1e6;
	for (n = behind(others, n, &from); pushed < n && micro(others[pushed].rank) <= low; pushed++)
		others[pushed].rank = (double)++low / 1e6;
	return pushed;
}
