/*
 * ahead.c - see ahead.h. A node holds fewer fragments with every step down of its timeline; of the
 * instants at which it loses one, the latest of all nodes count.
 */
#include "plan/ahead.h"

#include <assert.h>

#define AHEAD_MOST 64 /* maximum of count[] */

/* The latest instants, latest first, at most `most`. */
struct latest {
	int64_t at[AHEAD_MOST];
	unsigned n, most;
};

static void latest_add(struct latest *l, int64_t at)
{
	unsigned i = l->n;

	if (l->n == l->most) {
		if (at <= l->at[l->n - 1])
			return;
		i--;
	} else {
		l->n++;
	}
	for (; i > 0 && l->at[i - 1] < at; i--)
		l->at[i] = l->at[i - 1];
	l->at[i] = at;
}

static void node_ahead(const struct plan *p, uint32_t node, int64_t cpus, struct latest *l)
{
	struct walk w = timeline_walk(&p->node[node].line, p->now);
	int64_t copies = w.step[1 + RES_CPU] / cpus;

	while (copies > 0) {
		bool more = walk_next(&w);
		int64_t left = more ? w.step[1 + RES_CPU] / cpus : 0;
		for (int64_t lost = copies - left; lost > 0 && lost > copies - left - l->most; lost--)
			latest_add(l, more ? w.step[0] : TIME_NEVER);
		copies = left < copies ? left : copies;
	}
}

void plan_ahead(struct plan *p, int64_t cpus, const int32_t *count, unsigned n, int64_t *ret)
{
	struct latest l = {.most = (unsigned)count[n - 1]};
	bool live = timeline_at(plan_sum(p), p->now)[0] == TIME_BEGIN; /* insertions judge by free_now then */

	assert(l.most <= AHEAD_MOST);
	for (uint32_t i = 0; i < p->nnodes && (l.n < l.most || l.at[l.n - 1] != TIME_NEVER); i++) {
		if (live && i % FREE_BLOCK == 0 && p->free_most[i / FREE_BLOCK] < cpus)
			i += FREE_BLOCK - 1;
		else if ((!live || p->free_now[i] >= cpus) && p->node[i].up &&
			 p->cluster->nodes.v[i].partition == PARTITION_NONE)
			node_ahead(p, i, cpus, &l);
	}
	for (unsigned i = 0; i < n; i++)
		ret[i] = (unsigned)count[i] <= l.n ? l.at[count[i] - 1] : TIME_BEGIN;
}
