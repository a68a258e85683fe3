/*
 * check.c - computes the plan again from its pieces and compares; tests call it after every step.
 */
#include <assert.h>
#include <string.h>

#include "plan/booking.h"
#include "plan/fence.h"

/* Returns the sum including pending changes. Settling them has no visible effect. */
static const struct timeline *settled_sum(const struct plan *p)
{
	return plan_sum((struct plan *)p);
}

/* Asserts that no exclusive fragment shares this node with another fragment of its job. */
static void check_exclusive(const struct plan *p, const struct plan_node *n)
{
	for (size_t i = 0; i < n->pieces.n; i++)
		for (size_t j = 0; j < n->pieces.n; j++)
			if (i != j && n->pieces.v[i].job == n->pieces.v[j].job)
				assert(!p->cluster->shapes.v[n->pieces.v[i].shape].exclusive);
}

static void take(const struct plan_node *n, const struct piece *x, const struct res *need, struct timeline *line,
		 struct timeline *sum, int64_t *free_now)
{
	int64_t start = x->live ? TIME_BEGIN : x->start, from, until;

	while (plan_unbooked_span(n, &start, x->end, &from, &until)) {
		timeline_change(line, from, until, need, -1);
		timeline_change(sum, from, until, need, -1);
	}
	*free_now -= x->live ? need->v[RES_CPU] : 0;
}

/* Returns true if a piece on `at`, whose job keeps others from its nodes, keeps them from this
 * node. */
static bool keeps(const struct plan *p, const struct piece *x, uint32_t at, uint32_t node)
{
	uint32_t n = at;

	if (x->whole == WHOLE_HOST)
		while (n != node && (n = (uint32_t)p->cluster->nodes.v[n].peer) != at)
			;
	return n == node;
}

/* Takes the node once for each job that keeps others from it. */
static void check_whole(const struct plan *p, uint32_t node, struct timeline *line, struct timeline *sum,
			int64_t *free_now)
{
	const struct res *total = &p->cluster->nodes.v[node].total;
	job_vec seen = {0};

	for (uint32_t n = 0; n < p->nnodes; n++)
		for (size_t i = 0; i < p->node[n].pieces.n; i++) {
			const struct piece *x = &p->node[n].pieces.v[i];
			struct res own = {0};
			size_t k = 0;
			if (!x->whole || !keeps(p, x, n, node))
				continue;
			while (k < seen.n && seen.v[k] != x->job)
				k++;
			if (k < seen.n)
				continue;
			vec_push(&seen, x->job);
			take(&p->node[node], x, total, line, sum, free_now);
			for (k = 0; k < p->node[node].pieces.n; k++)
				if (p->node[node].pieces.v[k].job == x->job)
					res_add(&own, &p->cluster->shapes.v[p->node[node].pieces.v[k].shape].need);
			assert(res_covers(total, &own));
		}
	vec_free(&seen);
}

/* Asserts that the fences of a node are sorted without overlaps, and that their edges are known. */
static void check_fences(const struct plan *p, uint32_t node)
{
	const fence_vec *v = p->node[node].fences;

	for (size_t i = 0; v && i < v->n; i++) {
		const struct fence *f = &v->v[i];
		assert(f->id && f->start < f->end && (i == 0 || v->v[i - 1].end <= f->start));
		assert(plan_next_edge(p, f->start - 1) == f->start && plan_next_edge(p, f->end - 1) == f->end);
	}
}

/* Takes the node during its bookings. */
static void check_bookings(const struct plan *p, uint32_t node, struct timeline *line, struct timeline *sum)
{
	const booking_vec *v = p->node[node].bookings;
	const struct node *n = &p->cluster->nodes.v[node];

	for (size_t i = 0; v && i < v->n; i++) {
		const struct booking *b = &v->v[i];
		assert(b->start < b->end && (i == 0 || v->v[i - 1].end <= b->start));
		assert(b->start <= p->last_booking && b->start <= p->horizon);
		if (!n->up)
			continue;
		timeline_change(line, b->start, b->end, &n->total, -1);
		timeline_change(sum, b->start, b->end, &n->total, -1);
	}
}

/* Returns true if a live piece on the node lasts into the time of `x`. */
static bool runs_beside(const struct plan *p, uint32_t node, const struct piece *x)
{
	const piece_vec *v = &p->node[node].pieces;

	for (size_t i = 0; i < v->n; i++)
		if (v->v[i].live && v->v[i].end > x->start)
			return true;
	return false;
}

static void check_node(const struct plan *p, uint32_t i, struct timeline *sum)
{
	const struct plan_node *n = &p->node[i];
	const struct node *node = &p->cluster->nodes.v[i];
	struct res total = node->up ? node->total : (struct res){0};
	int64_t free_now = total.v[RES_CPU];
	uint32_t loose = 0;
	struct timeline line;

	timeline_init(&line, p->cluster->nres, &total);
	for (size_t k = 0; k < n->pieces.n; k++) {
		const struct piece *x = &n->pieces.v[k];
		const struct shape *s = &p->cluster->shapes.v[x->shape];
		const struct job *job = cluster_job(p->cluster, x->job);
		const struct frag *f = &cluster_job_request(p->cluster, job)->frag[x->frag];
		const struct place *at = plan_place(p, x->job, x->frag);

		assert(x->start < x->end && f->shape == x->shape);
		assert(f->node == NODE_ANY || f->node == (int32_t)i);
		assert(features_cover(&p->cluster->features, node->features, s->features));
		assert(at->node == (int32_t)i && at->slot == k);
		/* running jobs stay, even if their node set has changed */
		if (!x->live && cluster_job_nodes(p->cluster, job))
			assert(nodeset_has(cluster_job_nodes(p->cluster, job), i));
		assert(x->whole == cluster_job_request(p->cluster, job)->whole);
		if (!x->whole)
			take(n, x, &s->need, &line, sum, &free_now);
		assert(x->live || x->start <= p->horizon);
		assert(x->live || !plan_booked(p, i, x->start, x->end));
		assert(x->live || plan_piece_passes(p, job, x->whole, (int32_t)i, x->start, x->end));
		assert(x->live || runs_beside(p, i, x) || plan_rest_kept(p, i, x));
		loose += !x->running && !x->fixed;
	}
	check_bookings(p, i, &line, sum);
	check_fences(p, i);
	if (node->up)
		check_whole(p, i, &line, sum, &free_now);
	assert(loose == n->loose && n->features == node->features);
	assert(node->up == n->up);
	assert(timeline_equal(&line, &n->line));
	assert(free_now == p->free_now[i]);
	/* not in the past: at one instant a start may be ordered before the end it waits for is
	 * reported */
	for (struct walk w = timeline_walk(&line, p->now); w.step; walk_next(&w))
		for (uint32_t d = 1; d < line.stride; d++)
			assert(w.step[d] >= 0);
	check_exclusive(p, n);
	timeline_fini(&line);
}

/* Checks the free units of each amount, and that they suffice for planned jobs. */
static void check_amounts(const struct plan *p)
{
	const struct cluster *c = p->cluster;

	for (uint32_t a = 0; a < p->amount.n; a++) {
		struct timeline line, planned; /* planned: units taken by jobs that do not run */
		timeline_init(&line, 1, &(struct res){.v = {c->amounts.v[a].total - c->amounts.v[a].elsewhere}});
		timeline_init(&planned, 1, &(struct res){0});
		for (uint32_t n = 0; n < p->nnodes; n++)
			for (size_t i = 0; i < p->node[n].pieces.n; i++) {
				const struct piece *x = &p->node[n].pieces.v[i];
				const struct request *r = cluster_job_request(c, cluster_job(c, x->job));
				for (uint32_t k = 0; k < r->nportions && x->frag == 0; k++) {
					struct res need = {.v = {r->portion[k].count}};
					if (r->portion[k].amount != a)
						continue;
					timeline_change(&line, x->live ? TIME_BEGIN : x->start, x->end, &need, -1);
					if (!x->running)
						timeline_change(&planned, x->start, x->end, &need, 1);
				}
			}
		assert(timeline_equal(&line, &p->amount.v[a]));
		for (struct walk w = timeline_walk(&line, p->now); w.step; walk_next(&w)) {
			int64_t at = w.step[0] > p->now ? w.step[0] : p->now;
			assert(w.step[1] >= 0 || timeline_at(&planned, at)[1] == 0);
		}
		timeline_fini(&line);
		timeline_fini(&planned);
	}
}

/* Checks the units left for jobs without the key of each kept amount. */
static void check_kept(const struct plan *p)
{
	const struct cluster *c = p->cluster;

	for (size_t i = 0; i < p->kept.n; i++) {
		const struct kept_amount *k = &p->kept.v[i];
		struct timeline line;
		timeline_init(&line, 1, &(struct res){.v = {p->amount_total.v[k->amount] - k->count}});
		for (uint32_t n = 0; n < p->nnodes; n++)
			for (size_t x = 0; x < p->node[n].pieces.n; x++) {
				const struct piece *y = &p->node[n].pieces.v[x];
				struct res need = {.v = {request_portion(cluster_job_request(c, cluster_job(c, y->job)),
									 k->amount)}};
				if (y->frag == 0 && !plan_has_key(p, plan_hold(p, y->job)->keys, k->fence.id))
					timeline_change(&line, y->live ? TIME_BEGIN : y->start, y->end, &need, -1);
			}
		assert(timeline_equal(&line, &k->room));
		timeline_fini(&line);
	}
}

static void check_changes(const struct plan *p, uint32_t block)
{
	int64_t known = p->changes[block];

	p->changes[block] = TIME_BEGIN;
	int64_t found = plan_block_changes(p, block);
	assert(known == TIME_BEGIN || found == TIME_BEGIN || known == found);
	p->changes[block] = known;
}

void plan_check(const struct plan *p)
{
	struct timeline sum;
	struct res total = {0};
	uint32_t machines = 0, wholes = 0;
	int64_t free_sum = 0;

	for (uint32_t i = 0; i < p->nnodes; i++)
		if (p->cluster->nodes.v[i].up)
			res_add(&total, &p->cluster->nodes.v[i].total);
	timeline_init(&sum, p->cluster->nres, &total);
	for (uint32_t i = 0; i < p->nnodes; i++)
		check_node(p, i, &sum);
	for (uint32_t i = 0; i < p->nnodes; i++)
		for (size_t k = 0; k < p->node[i].pieces.n; k++) {
			machines += p->node[i].pieces.v[k].whole == WHOLE_HOST;
			wholes += p->node[i].pieces.v[k].whole != WHOLE_NOT;
		}
	assert(machines == p->machines && wholes == p->wholes);
	for (uint32_t i = 0; i < p->nnodes; i += FREE_BLOCK) {
		int32_t most = p->free_now[i];
		for (uint32_t k = i; k < p->nnodes && k < i + FREE_BLOCK; k++)
			most = p->free_now[k] > most ? p->free_now[k] : most;
		assert(most == p->free_most[i / FREE_BLOCK]);
		check_changes(p, i / FREE_BLOCK);
	}
	for (uint32_t i = 0; i < p->nnodes; i++)
		free_sum += p->free_now[i];
	assert(free_sum == p->free_sum);
	check_amounts(p);
	check_kept(p);
	assert(p->nnodes == 1 || timeline_equal(&sum, settled_sum(p)));
	timeline_fini(&sum);
	ROWS_EACH(&p->holds, j) {
		const struct hold *h = plan_hold(p, j);
		uint32_t placed = 0;
		int64_t start = 0, end = 0;
		for (uint32_t f = 0; f < h->nfrags; f++) {
			if (plan_place(p, j, f)->node == NODE_ANY)
				continue;
			const struct piece *x = plan_piece(p, j, f);
			assert(x->job == j && x->frag == f);
			assert(!placed || (x->start == start && x->end == end)); /* fragments start and end together */
			start = x->start;
			end = x->end;
			placed++;
		}
		assert(placed == h->placed && (placed == 0 || placed == h->nfrags));
	}
}

bool plan_equal(const struct plan *a, const struct plan *b)
{
	if (a->nnodes != b->nnodes || !timeline_equal(settled_sum(a), settled_sum(b)) ||
	    memcmp(a->free_now, b->free_now, a->nnodes * sizeof *a->free_now) != 0)
		return false;
	for (size_t i = 0; i < a->amount.n; i++)
		if (a->amount.n != b->amount.n || !timeline_equal(&a->amount.v[i], &b->amount.v[i]))
			return false;
	for (uint32_t i = 0; i < a->nnodes; i++) {
		const struct plan_node *x = &a->node[i], *y = &b->node[i];
		if (!timeline_equal(&x->line, &y->line) || x->pieces.n != y->pieces.n)
			return false;
		for (size_t k = 0; k < x->pieces.n; k++) {
			const struct piece *p = &x->pieces.v[k], *q = NULL;
			for (size_t m = 0; m < y->pieces.n && !q; m++)
				if (y->pieces.v[m].job == p->job && y->pieces.v[m].frag == p->frag)
					q = &y->pieces.v[m];
			if (!q || p->start != q->start || p->end != q->end || p->live != q->live)
				return false;
		}
	}
	return true;
}
