/*
 * weigh.c - see weigh.h.
 */
#include "rules/weigh.h"

#include <stdlib.h>

#include "base/mem.h"

#define RANK_OF_PRIORITY 60.0 /* seconds */

double weigh_rank(const struct attrs *queue, double submitted)
{
	return queue ? submitted - RANK_OF_PRIORITY * (double)attrs_number(queue, "priority") : submitted;
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
