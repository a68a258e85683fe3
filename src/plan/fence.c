/*
 * fence.c - see fence.h.
 */
#include "plan/fence.h"

#include <assert.h>
#include <stdlib.h>

/* The first fence of a node that ends after an instant; they are apart from each other, and so their ends are sorted, too. */
static size_t fence_after(const fence_vec *v, int64_t when)
{
	size_t lo = 0, hi = v->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (v->v[mid].end <= when)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The first edge after an instant. */
static size_t edge_after(const struct plan *p, int64_t when)
{
	size_t lo = 0, hi = p->edges.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (p->edges.v[mid] <= when)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void edge_add(struct plan *p, int64_t when)
{
	size_t i = edge_after(p, when - 1);

	if (i == p->edges.n || p->edges.v[i] != when)
		vec_insert(&p->edges, i, when);
}

void plan_fence(struct plan *p, uint32_t node, const struct fence *f)
{
	struct plan_node *n = &p->node[node];
	size_t i;

	assert(!p->depth && f->start < f->end && f->id);
	if (!n->fences)
		n->fences = mem_zalloc(sizeof *n->fences);
	i = fence_after(n->fences, f->start);
	assert(i == n->fences->n || n->fences->v[i].start >= f->end);
	vec_insert(n->fences, i, *f);
	edge_add(p, f->start);
	edge_add(p, f->end);
	p->version++;
}

void plan_unfence(struct plan *p)
{
	assert(!p->depth);
	for (uint32_t i = 0; i < p->nnodes; i++)
		if (p->node[i].fences)
			vec_clear(p->node[i].fences);
	vec_clear(&p->edges);
	p->version++;
}

int64_t plan_next_edge(const struct plan *p, int64_t when)
{
	size_t i = edge_after(p, when);

	return i < p->edges.n ? p->edges.v[i] : TIME_NEVER;
}

static bool has_key(const struct plan *p, const struct job *job, uint32_t id)
{
	return job->keys != KEYS_NONE && nodeset_has(&p->cluster->nodesets.v[job->keys], id);
}

/* Whether the job's own fences cover the interval without a gap. */
static bool bound_passes(const fence_vec *v, uint32_t id, int64_t start, int64_t end)
{
	for (size_t i = v ? fence_after(v, start) : 0; v && i < v->n && start < end; i++) {
		if (v->v[i].id != id || v->v[i].start > start)
			return false;
		start = v->v[i].end;
	}
	return start >= end;
}

bool plan_passes(const struct plan *p, const struct job *job, uint32_t node, int64_t start, int64_t end,
		 const struct fence **ret)
{
	const fence_vec *v = p->node[node].fences;

	if (ret)
		*ret = NULL;
	if (job->bound)
		return bound_passes(v, job->bound, start, end);
	for (size_t i = v ? fence_after(v, start) : 0; v && i < v->n && v->v[i].start < end; i++)
		if (!has_key(p, job, v->v[i].id)) {
			if (ret)
				*ret = &v->v[i];
			return false;
		}
	return true;
}

/* The same for a bound job: where a run of its own fences, one behind the other, is long enough. */
static int64_t bound_opens(const fence_vec *v, uint32_t id, int64_t from, int64_t length)
{
	int64_t begin = TIME_NEVER, end = TIME_BEGIN;

	for (size_t i = v ? fence_after(v, from) : 0; v && i < v->n; i++) {
		const struct fence *f = &v->v[i];
		if (f->id != id)
			continue;
		if (f->start != end)
			begin = f->start > from ? f->start : from;
		end = f->end;
		if (length <= end - begin)
			return begin;
	}
	return TIME_NEVER;
}

int64_t plan_opens(const struct plan *p, const struct job *job, uint32_t node, int64_t from, int64_t length)
{
	const fence_vec *v = p->node[node].fences;

	if (job->bound)
		return bound_opens(v, job->bound, from, length);
	for (size_t i = v ? fence_after(v, from) : 0; v && i < v->n && v->v[i].start - from < length; i++)
		if (!has_key(p, job, v->v[i].id))
			from = v->v[i].end;
	return from;
}

bool plan_piece_passes(const struct plan *p, const struct job *job, enum wholeness whole, int32_t node, int64_t start,
		       int64_t end)
{
	int32_t n = node;

	do {
		if (!plan_passes(p, job, (uint32_t)n, start, end, NULL))
			return false;
		n = plan_next_whole(p, whole, node, n);
	} while (n != node);
	return true;
}
