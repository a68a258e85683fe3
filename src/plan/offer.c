/*
 * offer.c - node allocation: chooses among the nodes that fit.
 *
 * Every method is a key: the least comes first. A run of equal fragments shares one scan. If a node
 * that has taken one copy stays the best until it is full, it makes one offer of several copies. If
 * another node is then better (load, spread), every copy is an offer with a key of its own. Keys
 * grow with the copies on a node, so the least of all offers are the same as if nodes were chosen
 * for one fragment after the other.
 */
#include <stdlib.h>

#include "core/habit.h"
#include "plan/insert_internal.h"
#include "plan/near.h"

/* Counts the fragments of the goal's job on a node, without the goal itself. */
static uint32_t own_count(const struct insertion *in, const struct goal *g, int32_t node)
{
	const piece_vec *v = &in->p->node[node].pieces;
	uint32_t n = 0;

	for (size_t i = 0; i < v->n; i++)
		n += v->v[i].job == g->job && v->v[i].frag != g->frag;
	return n;
}

/* Writes the first and the last node of the goal's job. Returns false if it has none yet. */
static bool own_range(const struct insertion *in, const struct goal *g, int32_t *ret_first, int32_t *ret_last)
{
	const struct hold *h = plan_hold(in->p, g->job);
	bool any = false;

	for (uint32_t i = 0; i < h->nfrags; i++) {
		int32_t node = plan_place(in->p, g->job, i)->node;
		if (node == NODE_ANY || i == g->frag)
			continue;
		if (!any || node < *ret_first)
			*ret_first = node;
		if (!any || node > *ret_last)
			*ret_last = node;
		any = true;
	}
	return any;
}

bool offer_divides(const struct insertion *in, const struct goal *g)
{
	return in->p->cluster->shapes.v[g->shape].need.v[RES_SHARE] > 0;
}

/* Returns the share that is free at the start: jobs that hold a share now keep it until they
 * end. */
static int64_t share_free(const struct insertion *in, const struct goal *g, int32_t node)
{
	return timeline_at(&in->p->node[node].line, g->start)[1 + RES_SHARE];
}

/* Returns the key of the copy that follows `before` others of the same run. */
static double offer_key(const struct insertion *in, const struct goal *g, int32_t node, double area, int64_t before)
{
	const struct plan *p = in->p;
	double length = (double)(g->end - g->start);
	int32_t first = node, last = node;

	if (offer_divides(in, g)) /* the least loaded node first */
		return 1 - (double)share_free(in, g, node) / (double)p->total[node].v[RES_SHARE];
	switch (in->m->alloc) {
	case ALLOC_FASTEST:
		return -(double)p->cluster->nodes.v[node].speed;
	case ALLOC_LOAD: {
		double total = (double)p->total[node].v[RES_CPU] * length;
		double more = (double)p->cluster->shapes.v[g->shape].need.v[RES_CPU] * length * (double)before;
		return total > 0 ? (total - area + more) / total : 0;
	}
	case ALLOC_SPREAD:
		return (double)(own_count(in, g, node) + before);
	case ALLOC_CONTIGUOUS:
		if (!own_range(in, g, &first, &last))
			return 0;
		return node < first ? last - node : node > last ? node - first : last - first;
	case ALLOC_BEST:
	case ALLOC_FIRST:
		break;
	}
	return 0;
}

/* Returns true if another node may be better after one copy. */
static bool alloc_alternates(enum alloc a)
{
	return a == ALLOC_LOAD || a == ALLOC_SPREAD;
}

/* Returns the tie-breaker among equal keys. */
static double offer_area(const struct insertion *in, double area)
{
	switch (in->m->alloc) {
	case ALLOC_BEST:
	case ALLOC_FASTEST:
		return area;
	case ALLOC_SPREAD:
		return -area;
	default:
		return 0;
	}
}

/* Returns true if the goal's job has nodes, but none at the same switch. */
static bool is_far(const struct insertion *in, const struct goal *g, int32_t node)
{
	const struct cluster *c = in->p->cluster;
	const struct hold *h = plan_hold(in->p, g->job);
	bool any = false;

	for (uint32_t i = 0; c->topology && i < h->nfrags; i++) {
		int32_t other = plan_place(in->p, g->job, i)->node;
		if (other == NODE_ANY || i == g->frag)
			continue;
		if (c->nodes.v[other].leaf == c->nodes.v[node].leaf)
			return false;
		any = true;
	}
	return any;
}

static int wanted(const struct insertion *in, const struct goal *g, int32_t node)
{
	const struct habit *h = in->p->cluster->nodes.v[node].habit;

	return h ? (int)(habit_expect(h, g->start, g->end - g->start) * 10) : 0;
}

struct offer offer_make(const struct insertion *in, const struct goal *g, int32_t node, double area, int64_t before)
{
	return (struct offer){.wanted = wanted(in, g, node),
			      .far = is_far(in, g, node),
			      .key = offer_key(in, g, node, area, before),
			      .area = offer_area(in, area),
			      .node = node,
			      .copies = 1};
}

static int offer_cmp(const void *a, const void *b)
{
	const struct offer *x = a, *y = b;

	if (x->wanted != y->wanted)
		return x->wanted - y->wanted;
	if (x->far != y->far)
		return x->far ? 1 : -1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->area != y->area)
		return x->area < y->area ? -1 : 1;
	return x->node - y->node;
}

bool offer_before(const struct offer *a, const struct offer *b)
{
	return offer_cmp(a, b) < 0;
}

void offers_add(offer_vec *v, const struct insertion *in, const struct goal *g, int32_t node, int64_t copies,
		uint32_t count, double area)
{
	struct offer o = offer_make(in, g, node, area, 0);

	if (!alloc_alternates(in->m->alloc)) {
		o.copies = copies;
		vec_push(v, o);
		return;
	}
	for (int64_t i = 0; i < copies && i < count; i++) {
		if (i)
			o = offer_make(in, g, node, area, i);
		vec_push(v, o);
	}
}

/* Moves the `count` least of n offers to the front, in order. They are few of many: selecting
 * them is faster than sorting all. */
static void offers_select(struct offer *v, size_t n, size_t count)
{
	size_t lo = 0, hi = n - 1;

	while (count < n && lo < hi) {
		struct offer pivot = v[lo + (hi - lo) / 2];
		size_t i = lo, j = hi;
		for (;;) {
			while (offer_cmp(&v[i], &pivot) < 0)
				i++;
			while (offer_cmp(&v[j], &pivot) > 0)
				j--;
			if (i >= j)
				break;
			struct offer x = v[i];
			v[i++] = v[j];
			v[j--] = x;
		}
		if (count - 1 <= j)
			hi = j;
		else
			lo = j + 1;
	}
	qsort(v, count < n ? count : n, sizeof *v, offer_cmp);
}

/* Keeps consecutive offers that, with the nodes the job has, span the fewest nodes. Offers are
 * in node order. */
static void offers_together(offer_vec *v, const struct insertion *in, const struct goal *g, uint32_t count)
{
	int32_t first = 0, last = 0, least = INT32_MAX;
	bool any = own_range(in, g, &first, &last);
	size_t from = 0, best = 0, until = v->n;
	int64_t copies = 0;

	for (size_t to = 0; to < v->n; to++) {
		copies += v->v[to].copies;
		while (copies - v->v[from].copies >= count)
			copies -= v->v[from++].copies;
		if (copies < count)
			continue;
		int32_t a = v->v[from].node, b = v->v[to].node;
		if (any && first < a)
			a = first;
		if (any && last > b)
			b = last;
		if (b - a < least) {
			least = b - a;
			best = from;
			until = to + 1;
		}
	}
	for (size_t i = best; i < until; i++)
		v->v[i - best] = v->v[i];
	v->n = until - best;
}

/* Keeps the offers at the fewest switches that have enough room, if there are such; nodes
 * without a switch are then left out. */
static void offers_near(offer_vec *v, const struct insertion *in, uint32_t count)
{
	const struct cluster *c = in->p->cluster;
	uint32_t leaves = (uint32_t)c->topology->leaf.n;
	int64_t *room = mem_zalloc((leaves + 1) * sizeof *room);
	bool *own = mem_zalloc((leaves + 1) * sizeof *own), *chosen = mem_zalloc((leaves + 1) * sizeof *chosen);
	size_t kept = 0;

	for (size_t i = 0; i < v->n; i++) {
		uint32_t leaf = c->nodes.v[v->v[i].node].leaf;
		if (leaf) {
			room[leaf - 1] += v->v[i].copies;
			own[leaf - 1] |= !v->v[i].far && plan_hold(in->p, in->job)->placed > 0;
		}
	}
	if (near_choose(c->topology, room, own, count, chosen)) {
		for (size_t i = 0; i < v->n; i++) {
			uint32_t leaf = c->nodes.v[v->v[i].node].leaf;
			if (leaf && chosen[leaf - 1])
				v->v[kept++] = v->v[i];
		}
		v->n = kept;
	}
	free(room);
	free(own);
	free(chosen);
}

void offers_choose(offer_vec *v, const struct insertion *in, const struct goal *g, uint32_t count)
{
	if (v->n > 1 && in->p->cluster->topology)
		offers_near(v, in, count);
	if (v->n < 2 || (in->m->alloc == ALLOC_FIRST && !offer_divides(in, g) && !in->p->cluster->habits))
		return;
	if (in->m->alloc == ALLOC_CONTIGUOUS && !offer_divides(in, g))
		offers_together(v, in, g, count);
	else
		offers_select(v->v, v->n, count);
}
