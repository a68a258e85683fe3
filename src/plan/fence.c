/*
 * fence.c - see fence.h.
 */
#include "plan/fence.h"

#include <assert.h>

/* Returns the first fence of a node that ends after an instant. Fences do not overlap, so their
 * ends are sorted as well. */
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

/* Returns the index of the first edge after an instant. */
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
	p->parts += fence_parted(f);
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
	for (size_t i = 0; i < p->kept.n; i++)
		timeline_fini(&p->kept.v[i].room);
	vec_clear(&p->kept);
	vec_clear(&p->edges);
	p->parts = 0;
	p->version++;
}

/* Subtracts what jobs without the key take of a kept amount from its room. */
static void room_count(struct plan *p, struct kept_amount *k)
{
	ROWS_EACH(&p->holds, j) {
		struct res need = {0};
		const struct piece *x;
		if (!plan_holds(p, j) || plan_place(p, j, 0)->node == NODE_ANY)
			continue;
		need.v[0] = request_portion(cluster_job_request(p->cluster, cluster_job(p->cluster, j)), k->amount);
		if (!need.v[0] || plan_has_key(p, plan_hold(p, j)->keys, k->fence.id))
			continue;
		x = plan_piece(p, j, 0);
		timeline_change(&k->room, x->live ? TIME_BEGIN : x->start, x->end, &need, -1);
	}
}

void plan_keep(struct plan *p, uint32_t amount, int64_t count, const struct fence *f)
{
	struct kept_amount k = {.amount = amount, .count = count, .fence = *f};

	assert(!p->depth && f->start < f->end && f->id && amount < p->amount.n);
	/* keys were not used for counting so far */
	ROWS_EACH(&p->holds, j) {
		if (p->kept.n == 0)
			plan_hold(p, j)->keys = cluster_job(p->cluster, j)->keys;
	}
	timeline_init(&k.room, 1, &(struct res){.v = {p->amount_total.v[amount] - count}});
	room_count(p, &k);
	vec_push(&p->kept, k);
	edge_add(p, f->start);
	edge_add(p, f->end);
	p->version++;
}

int64_t plan_next_edge(const struct plan *p, int64_t when)
{
	size_t i = edge_after(p, when);

	return i < p->edges.n ? p->edges.v[i] : TIME_NEVER;
}

bool plan_has_key(const struct plan *p, uint32_t keys, uint32_t id)
{
	return keys != KEYS_NONE && nodeset_has(&p->cluster->nodesets.v[keys], id);
}

static bool has_key(const struct plan *p, const struct job *job, uint32_t id)
{
	return plan_has_key(p, job->keys, id);
}

/* Returns true if a fence keeps a job from all of its node: the job has no key and cannot use a
 * part. */
static bool shuts_out(const struct plan *p, const struct job *job, uint32_t node, const struct fence *f)
{
	return !has_key(p, job, f->id) &&
	       (!fence_parted(f) || p->cluster->nodes.v[node].partition || cluster_job_request(p->cluster, job)->whole);
}

/* Returns true if fences of the job's own id cover the interval without a gap. */
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
		if (shuts_out(p, job, node, &v->v[i])) {
			if (ret)
				*ret = &v->v[i];
			return false;
		}
	return true;
}

/* Returns plan_opens() for a bound job: where consecutive fences of its own id are long enough. */
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
		if (shuts_out(p, job, node, &v->v[i]))
			from = v->v[i].end;
	return from;
}

/* Returns true if a fence keeps a part of its node from the job. */
static bool parts_from(const struct plan *p, const struct job *job, const struct fence *f)
{
	return fence_parted(f) && !has_key(p, job, f->id);
}

void plan_parts(const struct plan *p, const struct job *job, uint32_t node, int64_t start, int64_t end, struct res *ret)
{
	const fence_vec *v = p->node[node].fences;

	*ret = (struct res){0};
	if (!p->parts || !p->edges.n || !v || job->bound)
		return;
	for (size_t i = fence_after(v, start); i < v->n && v->v[i].start < end; i++)
		for (int d = 0; d < RES_MAX && parts_from(p, job, &v->v[i]); d++)
			if (v->v[i].part.v[d] > ret->v[d])
				ret->v[d] = v->v[i].part.v[d];
}

/* Writes what a fence with a part leaves jobs without the key over [start, end), which is inside
 * it. */
static void rest_least(const struct plan *p, uint32_t node, const struct fence *f, int64_t start, int64_t end,
		       struct res *ret)
{
	const piece_vec *v = &p->node[node].pieces;
	struct res rest = p->total[node];
	struct timeline line;

	res_sub(&rest, &f->part);
	timeline_init(&line, RES_MAX, &rest);
	for (size_t i = 0; i < v->n; i++) {
		const struct piece *x = &v->v[i];
		const struct job *job = cluster_job(p->cluster, x->job);
		int64_t from = x->live || x->start < start ? start : x->start, until = x->end < end ? x->end : end;
		if (from < until && job->bound != f->id && !has_key(p, job, f->id))
			timeline_change(&line, from, until,
					x->whole ? &p->total[node] : &p->cluster->shapes.v[x->shape].need, -1);
	}
	timeline_least(&line, start, end, ret);
	timeline_fini(&line);
}

bool plan_rest(const struct plan *p, const struct job *job, uint32_t node, int64_t start, int64_t end, struct res *ret,
	       const struct fence **ret_fence)
{
	const fence_vec *v = p->node[node].fences;
	bool any = false;

	if (!p->parts || !p->edges.n || !v || job->bound)
		return false;
	for (size_t i = fence_after(v, start); i < v->n && v->v[i].start < end; i++) {
		const struct fence *f = &v->v[i];
		struct res least;
		if (!parts_from(p, job, f))
			continue;
		rest_least(p, node, f, f->start > start ? f->start : start, f->end < end ? f->end : end, &least);
		for (int d = 0; d < RES_MAX; d++)
			if (!any || least.v[d] < ret->v[d])
				ret->v[d] = least.v[d];
		if (ret_fence && !any)
			*ret_fence = f;
		any = true;
	}
	return any;
}

int64_t plan_rest_copies(const struct plan *p, uint32_t job, uint32_t node, int64_t start, int64_t end,
			 const struct res *need)
{
	int64_t copies = INT64_MAX;
	struct res rest;

	if (!plan_rest(p, cluster_job(p->cluster, job), node, start, end, &rest, NULL))
		return copies;
	for (int d = 0; d < RES_MAX; d++)
		if (need->v[d] && rest.v[d] / need->v[d] < copies)
			copies = rest.v[d] / need->v[d];
	return copies > 0 ? copies : 0;
}

bool plan_rest_kept(const struct plan *p, uint32_t node, const struct piece *x)
{
	const struct res *need = &p->cluster->shapes.v[x->shape].need;
	struct res rest;

	if (!plan_rest(p, cluster_job(p->cluster, x->job), node, x->start, x->end, &rest, NULL))
		return true;
	for (int d = 0; d < RES_MAX; d++)
		if (need->v[d] && rest.v[d] < 0)
			return false;
	return true;
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
