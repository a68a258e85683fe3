/*
 * search.c - finds when a job can be placed: tests every event point, forward from now or backward
 * from a deadline.
 *
 * A job can start at t but not just before only if a piece ends at t; it can start at t but not
 * just after only if a piece starts at t + length, or the deadline is there. The edges of fences
 * count as both. So the ends of pieces, and their starts less the length, are the only instants to
 * test; those of the site's amounts are among them. Pushes do not change that, since they move
 * fragments between nodes and not in time. Nor do they change the sum of what is free: instants at
 * which the sum is too low are skipped. Backward, the sum includes everything that may be removed.
 * Forward, instants are also skipped at which some fragment could have no node even if only running
 * jobs held any: that bound alone is usually the answer.
 */
#include <math.h>
#include <stdlib.h>

#include "base/keysort.h"
#include "plan/fence.h"
#include "plan/insert.h"

typedef VEC(int64_t) instant_vec;

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static size_t distinct(int64_t *v, size_t n)
{
	size_t k = 0;

	qsort(v, n, sizeof *v, ascending);
	for (size_t i = 0; i < n; i++)
		if (k == 0 || v[i] != v[k - 1])
			v[k++] = v[i];
	return k;
}

static const struct request *request_of(const struct plan *p, uint32_t job)
{
	return cluster_job_request(p->cluster, cluster_job(p->cluster, job));
}

/* Returns the k-th smallest element of v, counting from 0. Reorders v. */
static int64_t select_kth(int64_t *v, size_t n, size_t k)
{
	size_t lo = 0, hi = n - 1;

	while (lo < hi) {
		int64_t pivot = v[lo + (hi - lo) / 2];
		size_t i = lo, j = hi;
		for (;;) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			int64_t x = v[i];
			v[i++] = v[j];
			v[j--] = x;
		}
		if (k <= j)
			hi = j;
		else
			lo = j + 1;
	}
	return v[k];
}

static int64_t copies_in(const struct res *free, const struct res *need, int nres)
{
	int64_t copies = INT64_MAX;

	for (int d = 0; d < nres; d++)
		if (need->v[d] && free->v[d] / need->v[d] < copies)
			copies = free->v[d] / need->v[d];
	return copies;
}

/* Returns how many copies of a shape fit into a node's free resources. */
static int64_t copies_then(const struct shape *s, const struct res *total, const struct res *free, int nres)
{
	int64_t copies = 0;

	if (!s->whole || res_covers(free, total))
		copies = copies_in(free, &s->need, nres);
	/* `free` may be negative: whole nodes are subtracted once per piece */
	return copies > 0 ? copies : 0;
}

/* Appends the instants from which a node could hold one, two, ... at most `most` copies if it
 * held only live pieces. */
static void node_instants(const struct plan *p, uint32_t node, const struct shape *s, int64_t from, int64_t most,
			  instant_vec *ret)
{
	const struct res *total = &p->total[node];
	const piece_vec *v = &p->node[node].pieces;
	struct res free = p->cluster->nodes.v[node].total;
	struct {
		int64_t end;
		const struct res *need;
	} live[64];
	int n = 0, nres = p->cluster->nres;
	int64_t have;

	for (size_t i = 0; i < v->n; i++) {
		int k = n;
		if (!v->v[i].live)
			continue;
		if (n == 64) /* too many to sort here: treat the others as ended */
			continue;
		const struct res *x = v->v[i].whole ? total : &p->cluster->shapes.v[v->v[i].shape].need;
		res_sub(&free, x);
		for (n++; k > 0 && live[k - 1].end > v->v[i].end; k--)
			live[k] = live[k - 1];
		live[k].end = v->v[i].end;
		live[k].need = x;
	}
	have = copies_then(s, total, &free, nres);
	if (have > most)
		have = most;
	for (int64_t i = 0; i < have; i++)
		vec_push(ret, from);
	for (int i = 0; i < n && have < most; i++) {
		int64_t now;
		res_add(&free, live[i].need);
		now = copies_then(s, total, &free, nres);
		for (; have < now && have < most; have++)
			vec_push(ret, live[i].end > from ? live[i].end : from);
	}
}

/* Appends the instants from which a node has room for one, two, ... at most `most` copies side
 * by side for `length` seconds. More copies never have room earlier than fewer. */
static void node_rooms(const struct plan *p, uint32_t node, const struct shape *s, int64_t from, int64_t length,
		       int64_t most, instant_vec *ret)
{
	const struct res *need = &s->need;
	struct res all = {0};

	if (s->whole) {
		int64_t copies = copies_in(&p->total[node], need, p->cluster->nres);
		from = timeline_earliest(&p->node[node].line, from, length, &p->total[node]);
		for (int64_t i = 0; i < most && i < copies && from != TIME_NEVER; i++)
			vec_push(ret, from);
		return;
	}
	for (int64_t i = 0; i < most && from != TIME_NEVER; i++) {
		res_add(&all, need);
		from = timeline_earliest(&p->node[node].line, from, length, &all);
		if (from != TIME_NEVER)
			vec_push(ret, from);
	}
}

/* A lower bound that is being computed for equal fragments of a job. */
struct bound {
	struct plan *p;
	const struct manner *m;
	const struct job *job;
	const struct shape *shape;
	const struct nodeset *on;
	uint32_t count;		    /* fragments */
	int64_t most, from, length; /* most: fragments that one node may have */
	bool pushes;		    /* fragments can be pushed: only running jobs are in the way */
	instant_vec at;
	int64_t until; /* the bound so far; TIME_NEVER: too few nodes were seen */
};

/* Adds the instants from which a node could hold some of them. */
static void bound_add(struct bound *r, uint32_t n)
{
	const struct plan_node *node = &r->p->node[n];
	int64_t opens = r->from;

	r->p->work++;
	if (!node->up || r->p->cluster->nodes.v[n].partition ||
	    !features_cover(&r->p->cluster->features, node->features, r->shape->features) ||
	    (r->on && !nodeset_has(r->on, n)) || (r->m->on && !nodeset_has(r->m->on, n)))
		return;
	if (plan_has_fences(r->p, r->job))
		opens = plan_opens(r->p, r->job, n, r->from, r->length);
	if (opens == TIME_NEVER)
		return;
	if (r->pushes) {
		node_instants(r->p, n, r->shape, opens, r->most, &r->at);
	} else if (r->count == 1 && !r->shape->whole) {
		int64_t at = timeline_earliest_before(&node->line, opens, r->until, r->length, &r->shape->need);
		r->until = at < r->until ? at : r->until;
	} else {
		node_rooms(r->p, n, r->shape, opens, r->length, r->most, &r->at);
	}
}

/* Computes the bound, if there are `least` instants or more, and drops those behind it. */
static void bound_settle(struct bound *r, size_t least)
{
	if (r->at.n < least)
		return;
	int64_t at = select_kth(r->at.v, r->at.n, r->count - 1);
	r->at.n = r->count;
	r->until = at < r->until ? at : r->until;
}

/* Lists the blocks of nodes by the instant until which none of them can hold more CPUs than now. */
static struct keyed *blocks_by_change(const struct plan *p, int64_t cpus, size_t *ret_n)
{
	size_t n = (p->nnodes + FREE_BLOCK - 1) / FREE_BLOCK;
	struct keyed *v = mem_alloc((n + 1) * sizeof *v);

	for (uint32_t i = 0; i < n; i++) {
		bool room = p->free_most[i] >= cpus;
		v[i] = (struct keyed){.key = room ? -INFINITY : (double)plan_block_changes(p, i), .tie = i};
	}
	keyed_sort(v, n);
	*ret_n = n;
	return v;
}

/* Adds all nodes, except those that change too late to matter. */
static void bound_add_all(struct bound *r)
{
	int64_t cpus = r->shape->need.v[RES_CPU];
	size_t nblocks;
	struct keyed *block = blocks_by_change(r->p, cpus, &nblocks);

	r->p->work += nblocks;
	for (size_t i = 0; i < nblocks; i++) {
		uint32_t b = block[i].tie, n = b * FREE_BLOCK;
		if (r->p->free_most[b] < cpus && plan_block_changes(r->p, b) >= r->until)
			break;
		for (; n < r->p->nnodes && n < (b + 1) * FREE_BLOCK; n++)
			bound_add(r, n);
		bound_settle(r, 2 * (size_t)r->count);
	}
	free(block);
}

/* Returns a lower bound for the instant from which `count` fragments of a shape can be held;
 * exact for one fragment, apart from fences. Where fragments can be pushed, only running jobs
 * are in the way. */
static int64_t shape_bound(struct plan *p, const struct manner *m, const struct job *job, const struct frag *f,
			   uint32_t count, int64_t from, int64_t length)
{
	const struct shape *s = &p->cluster->shapes.v[f->shape];
	struct bound r = {.p = p,
			  .m = m,
			  .job = job,
			  .shape = s,
			  .on = cluster_job_nodes(p->cluster, job),
			  .count = count,
			  .most = f->node == NODE_ANY && (m->scatter || s->exclusive) ? 1 : count,
			  .from = from,
			  .length = length,
			  .pushes = m->push_depth && p->loose,
			  .until = TIME_NEVER};

	if (f->node != NODE_ANY)
		bound_add(&r, (uint32_t)f->node);
	else
		bound_add_all(&r);
	bound_settle(&r, count);
	vec_free(&r.at);
	return r.until;
}

static int64_t earliest_bound(struct plan *p, const struct manner *m, uint32_t job, int64_t from, int64_t length)
{
	const struct request *r = request_of(p, job);
	const struct job *owner = cluster_job(p->cluster, job);
	int64_t bound = from;

	for (uint32_t i = 0, k; i < r->nfrags && bound != TIME_NEVER; i = k) {
		int64_t b;
		for (k = i + 1; k < r->nfrags; k++)
			if (r->frag[k].shape != r->frag[i].shape || r->frag[k].node != r->frag[i].node)
				break;
		b = shape_bound(p, m, owner, &r->frag[i], k - i, from, length);
		if (b > bound)
			bound = b;
	}
	return bound;
}

/* Returns true if a piece may be elsewhere, or gone, at the tested instant. */
static bool moves_pieces(const struct plan *p, const struct manner *m)
{
	return m->may_remove || (m->push_depth && p->loose);
}

/* Returns the earlier of `next` and the first instant after `when` at which something changes on a
 * node. Where one piece ends as another starts, the node's timeline may not show it. That matters
 * only if the other piece can be moved or removed, or may use resources that this job may not. */
static int64_t node_next(struct plan *p, const struct manner *m, uint32_t n, int64_t when, int64_t next)
{
	struct walk w = timeline_walk(&p->node[n].line, when);
	const piece_vec *v = &p->node[n].pieces;

	p->work++;
	if (walk_next(&w) && w.step[0] < next)
		next = w.step[0];
	for (size_t k = 0; (moves_pieces(p, m) || p->parts) && k < v->n; k++)
		if (!v->v[k].live && v->v[k].start > when && v->v[k].start < next)
			next = v->v[k].start;
	return next;
}

static int64_t next_instant(struct plan *p, const struct manner *m, int64_t when)
{
	int64_t next = plan_next_edge(p, when);

	p->work += p->nnodes / FREE_BLOCK + 1;
	for (uint32_t n = 0; n < p->nnodes; n++) {
		while (n % FREE_BLOCK == 0 && n < p->nnodes && plan_block_changes(p, n / FREE_BLOCK) >= next)
			n += FREE_BLOCK;
		if (n < p->nnodes)
			next = node_next(p, m, n, when, next);
	}
	return next;
}

/* Returns true if the search ends here; `next` would be tested next. */
static bool search_pauses(const struct plan *p, const struct manner *m, int64_t next)
{
	if (!m->search || p->work < m->search->stop)
		return false;
	m->search->next = next;
	return next != TIME_NEVER;
}

int64_t plan_insert_earliest(struct plan *p, const struct manner *m, uint32_t job, int64_t from, int64_t length)
{
	const struct request *r = request_of(p, job);
	int64_t at = from;

	p->work++;
	if (m->search)
		m->search->next = TIME_NEVER;
	if (plan_is_simple(p, m, job)) {
		at = timeline_earliest(plan_sum(p), from, length, &r->total);
		if (at != TIME_NEVER)
			plan_put(p, job, 0, 0, at, at + length);
		return at;
	}
	while (at != TIME_NEVER) {
		bool parted = !m->may_remove && plan_in_partition(p, job);
		if (parted)
			at = plan_partition_earliest(p, job, at, length, NULL);
		if (at == TIME_NEVER)
			break;
		int64_t enough = m->may_remove || parted ? at : timeline_earliest(plan_sum(p), at, length, &r->total);
		if (enough != TIME_NEVER)
			enough = plan_amounts_earliest(p, job, enough, length);
		if (enough > at) {
			at = enough;
			continue;
		}
		if (plan_insert(p, m, job, at, at + length))
			break;
		at = next_instant(p, m, at);
		if (!m->may_remove && !parted && at != TIME_NEVER)
			at = earliest_bound(p, m, job, at, length);
		if (search_pauses(p, m, at))
			return TIME_NEVER;
	}
	return at;
}

/* ---- latest start ---- */

/* Gives back what a piece holds: on its node, or on all nodes that its job keeps to itself. */
static void room_give(const struct plan *p, int32_t node, const struct piece *x, struct timeline *room)
{
	int64_t start = x->live ? TIME_BEGIN : x->start;
	int32_t at = node;

	do {
		const struct res *held = x->whole ? &p->total[at] : &p->cluster->shapes.v[x->shape].need;
		timeline_change(room, start, x->end, held, 1);
		at = plan_next_whole(p, x->whole, node, at);
	} while (at != node);
}

/* Raises the room where a node's free amounts are negative because a job runs longer than
 * planned: the deficit does not reduce what other nodes have. */
static void room_lift(const struct timeline *line, struct timeline *room)
{
	for (struct walk w = timeline_walk(line, TIME_BEGIN); w.step; walk_next(&w)) {
		struct res missing = {0};
		bool any = false;
		for (uint32_t d = 1; d < line->stride; d++)
			if (w.step[d] < 0) {
				missing.v[d - 1] = -w.step[d];
				any = true;
			}
		if (any)
			timeline_change(room, w.step[0], walk_until(&w), &missing, 1);
	}
}

/* Computes an upper bound of the sum available to any insertion: everything it may remove counts
 * as free. So do whole nodes that may be pushed, since the job may take smaller nodes elsewhere. */
static void room_init(struct plan *p, const struct manner *m, struct timeline *room)
{
	const struct timeline *sum = plan_sum(p);

	p->work += p->nnodes;
	timeline_init(room, p->cluster->nres, &(struct res){0});
	timeline_copy(room, sum);
	for (uint32_t n = 0; n < p->nnodes; n++) {
		const piece_vec *v = &p->node[n].pieces;
		for (size_t i = 0; i < v->n; i++)
			if ((v->v[i].whole && !v->v[i].running) || (plan_removable(p, v->v[i].job) & m->may_remove))
				room_give(p, (int32_t)n, &v->v[i], room);
		room_lift(&p->node[n].line, room);
	}
}

/* Returns true if pieces on this node determine when the job may start. */
static bool node_tells(const struct plan *p, uint32_t job, bool parted, uint32_t node)
{
	uint32_t partition = p->cluster->nodes.v[node].partition;

	return !parted || (partition && plan_may_use(p, job, &p->cluster->partitions.v[partition - 1]));
}

int64_t plan_insert_latest(struct plan *p, const struct manner *m, uint32_t job, int64_t from, int64_t until,
			   int64_t length)
{
	const struct request *r = request_of(p, job);
	int64_t last = until - length, found = TIME_NEVER;
	bool parted = plan_in_partition(p, job);
	instant_vec at = {0};
	struct timeline room;

	if (m->search)
		m->search->next = TIME_NEVER;
	if (last < from)
		return TIME_NEVER;
	vec_push(&at, last);
	for (uint32_t n = 0; n < p->nnodes; n++)
		for (size_t i = 0; i < p->node[n].pieces.n && node_tells(p, job, parted, n); i++) {
			const struct piece *x = &p->node[n].pieces.v[i];
			if (!x->live && (!parted || x->frag == 0) && x->start - length >= from &&
			    x->start - length < last)
				vec_push(&at, x->start - length);
		}
	for (uint32_t n = 0; n < p->nnodes && p->last_booking != TIME_BEGIN; n++) {
		const booking_vec *v = p->node[n].bookings;
		for (size_t i = 0; v && i < v->n; i++)
			if (v->v[i].start - length >= from && v->v[i].start - length < last)
				vec_push(&at, v->v[i].start - length);
	}
	for (size_t i = 0; i < p->edges.n; i++)
		if (p->edges.v[i] - length >= from && p->edges.v[i] - length < last)
			vec_push(&at, p->edges.v[i] - length);
	at.n = distinct(at.v, at.n);
	if (!parted)
		room_init(p, m, &room);
	for (size_t i = at.n; i-- > 0 && found == TIME_NEVER;)
		if ((parted || timeline_fits(&room, at.v[i], at.v[i] + length, &r->total)) &&
		    plan_insert(p, m, job, at.v[i], at.v[i] + length))
			found = at.v[i];
		else if (i > 0 && search_pauses(p, m, at.v[i - 1] + length))
			break;
	if (!parted)
		timeline_fini(&room);
	vec_free(&at);
	return found;
}
