/*
 * plan.c - pieces, timelines, and the log that makes changes undoable.
 */
#include "plan/plan.h"

#include <assert.h>
#include <string.h>

#include "plan/booking.h"
#include "plan/fence.h"

#define PIECES_FIRST 2 /* room for pieces that a node gets at first */
#define AHEAD 4	       /* distance at which the pieces of a job are prefetched */

static void most_make(struct plan *p, uint32_t block)
{
	uint32_t from = block * FREE_BLOCK, until = from + FREE_BLOCK < p->nnodes ? from + FREE_BLOCK : p->nnodes;
	int32_t most = INT32_MIN;

	for (uint32_t i = from; i < until; i++)
		most = p->free_now[i] > most ? p->free_now[i] : most;
	p->free_most[block] = most;
}

/* Derives what is kept about all of free_now. */
static void free_made(struct plan *p)
{
	for (uint32_t block = 0; block * FREE_BLOCK < p->nnodes; block++)
		most_make(p, block);
	p->free_sum = 0;
	for (uint32_t i = 0; i < p->nnodes; i++)
		p->free_sum += p->free_now[i];
}

/* Adds to the CPUs of a node that no live piece holds. */
static void free_add(struct plan *p, int32_t node, int64_t more)
{
	int32_t *free = &p->free_now[node], *most = &p->free_most[node / FREE_BLOCK];
	bool last = more < 0 && *free == *most;

	*free += (int32_t)more;
	p->free_sum += more;
	if (last)
		most_make(p, (uint32_t)node / FREE_BLOCK);
	else if (*free > *most)
		*most = *free;
}

/* ---- when blocks of nodes change ---- */

/* Returns the first instant at which the node's timeline changes, or a piece begins or ends where
 * another does the opposite: a search that may move one of them sees a change there as well. */
static int64_t node_changes(const struct plan_node *n)
{
	const struct steps *x = &n->line.first;
	int64_t first = x->n > 1 ? x->v[n->line.stride] : n->line.nmore ? n->line.more[0].v[0] : TIME_NEVER;

	for (size_t i = 0; i < n->pieces.n; i++) {
		int64_t at = n->pieces.v[i].live ? n->pieces.v[i].end : n->pieces.v[i].start;
		first = at < first ? at : first;
	}
	return first;
}

int64_t plan_block_changes(const struct plan *p, uint32_t block)
{
	uint32_t from = block * FREE_BLOCK, until = from + FREE_BLOCK < p->nnodes ? from + FREE_BLOCK : p->nnodes;
	int64_t first = p->changes[block];

	if (p->machines) /* they hold nodes of other blocks than their pieces */
		return TIME_BEGIN;
	if (first != TIME_BEGIN)
		return first;
	first = TIME_NEVER;
	for (uint32_t i = from; i < until; i++) {
		int64_t at = node_changes(&p->node[i]);
		first = at < first ? at : first;
	}
	return p->changes[block] = first;
}

/* Follows a piece that is put on a node (sign -1) or taken from it (1). What a booking hides
 * appears when a piece leaves. */
static void changes_follow(struct plan *p, int32_t node, const struct piece *x, int sign)
{
	int64_t at = x->live ? x->end : x->start, *first = &p->changes[node / FREE_BLOCK];

	if (p->node[node].bookings || (sign > 0 && at <= *first))
		*first = TIME_BEGIN;
	else if (at < *first)
		*first = at;
}

static void changes_forget_all(struct plan *p)
{
	for (uint32_t block = 0; block <= p->nnodes / FREE_BLOCK; block++)
		p->changes[block] = TIME_BEGIN;
}

/* Makes a node on which nothing is. */
static void node_make(struct plan *p, uint32_t node)
{
	const struct node *n = &p->cluster->nodes.v[node];
	struct res none = {0};

	p->node[node] = (struct plan_node){.up = n->up, .features = n->features};
	p->total[node] = n->total;
	timeline_init(&p->node[node].line, p->cluster->nres, n->up ? &n->total : &none);
	p->free_now[node] = n->up ? (int32_t)n->total.v[RES_CPU] : 0;
}

struct plan *plan_create(const struct cluster *c)
{
	struct plan *p = mem_zalloc(sizeof *p);

	p->cluster = c;
	p->now = p->horizon = p->last_booking = TIME_BEGIN;
	p->released = TIME_NEVER;
	trail_init(&p->trail);
	p->nnodes = (uint32_t)c->nodes.n;
	p->node = mem_zalloc(sizeof *p->node * (p->nnodes + 1));
	p->total = mem_zalloc(sizeof *p->total * (p->nnodes + 1));
	p->free_now = mem_zalloc(sizeof *p->free_now * (p->nnodes + 1));
	p->free_most = mem_zalloc(sizeof *p->free_most * (p->nnodes / FREE_BLOCK + 1));
	for (uint32_t i = 0; i < p->nnodes; i++)
		node_make(p, i);
	free_made(p);
	p->changes = mem_alloc(sizeof *p->changes * (p->nnodes / FREE_BLOCK + 1));
	changes_forget_all(p);
	timeline_init(&p->sum, c->nres, &c->total);
	for (uint32_t i = 0; i < c->amounts.n; i++)
		plan_set_amount(p, i);
	timeline_init(&p->scratch, c->nres, &c->total);
	return p;
}

void plan_destroy(struct plan *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->nnodes; i++) {
		timeline_fini(&p->node[i].line);
		vec_free(&p->node[i].pieces);
		if (p->node[i].bookings)
			vec_free(p->node[i].bookings);
		free(p->node[i].bookings);
		if (p->node[i].fences)
			vec_free(p->node[i].fences);
		free(p->node[i].fences);
	}
	vec_free(&p->edges);
	ROWS_EACH(&p->holds, i) {
		if (plan_hold(p, i)->nfrags > 1)
			free(plan_hold(p, i)->many);
	}
	rows_free(&p->holds);
	vec_free(&p->log);
	timeline_fini(&p->sum);
	timeline_fini(&p->scratch);
	for (size_t i = 0; i < p->amount.n; i++)
		timeline_fini(&p->amount.v[i]);
	vec_free(&p->amount);
	vec_free(&p->amount_total);
	for (size_t i = 0; i < p->kept.n; i++)
		timeline_fini(&p->kept.v[i].room);
	vec_free(&p->kept);
	free(p->dead);
	map_fini(&p->packs);
	free(p->node);
	free(p->total);
	free(p->free_now);
	free(p->free_most);
	free(p->changes);
	trail_fini(&p->trail);
	free(p);
}

struct plan *plan_clone(const struct plan *p)
{
	struct plan *q = plan_create(p->cluster);

	q->now = p->now;
	q->version = p->version;
	q->given = p->given;
	q->loose = p->loose;
	q->wholes = p->wholes;
	q->machines = p->machines;
	q->nreserved = p->nreserved;
	q->horizon = p->horizon;
	q->released = p->released;
	q->last_booking = p->last_booking;
	q->parts = p->parts;
	trail_copy(&q->trail, &p->trail);
	vec_copy(&q->edges, &p->edges);
	timeline_copy(&q->sum, p->nnodes == 1 ? &p->sum : plan_sum((struct plan *)p));
	for (size_t i = 0; i < p->amount.n; i++)
		timeline_copy(&q->amount.v[i], &p->amount.v[i]);
	for (size_t i = 0; i < p->kept.n; i++) {
		vec_push(&q->kept, p->kept.v[i]);
		timeline_init(&q->kept.v[i].room, 1, &(struct res){0});
		timeline_copy(&q->kept.v[i].room, &p->kept.v[i].room);
	}
	memcpy(q->total, p->total, p->nnodes * sizeof *p->total);
	memcpy(q->free_now, p->free_now, p->nnodes * sizeof *p->free_now);
	free_made(q);
	for (uint32_t i = 0; i < p->nnodes; i++) {
		q->node[i].loose = p->node[i].loose;
		timeline_copy(&q->node[i].line, &p->node[i].line);
		if (p->node[i].bookings) {
			q->node[i].bookings = mem_zalloc(sizeof *q->node[i].bookings);
			vec_copy(q->node[i].bookings, p->node[i].bookings);
		}
		if (p->node[i].fences) {
			q->node[i].fences = mem_zalloc(sizeof *q->node[i].fences);
			vec_copy(q->node[i].fences, p->node[i].fences);
		}
		vec_copy(&q->node[i].pieces, &p->node[i].pieces);
	}
	rows_copy(&q->holds, &p->holds, sizeof(struct hold), NULL);
	ROWS_EACH(&q->holds, j) {
		struct hold *h = plan_hold(q, j);
		if (h->nfrags > 1) {
			h->many = mem_alloc(h->nfrags * sizeof *h->many);
			memcpy(h->many, plan_hold(p, j)->many, h->nfrags * sizeof *h->many);
		}
	}
	return q;
}

static struct place *place_of(struct plan *p, uint32_t job, uint32_t frag)
{
	struct hold *h = plan_hold(p, job);

	return h->nfrags == 1 ? &h->one : &h->many[frag];
}

static void hold_open(struct plan *p, uint32_t job)
{
	hold_ready(p, job);

	struct hold *h = plan_hold(p, job);

	if (h->nfrags)
		return;
	h->nfrags = cluster_job_request(p->cluster, cluster_job(p->cluster, job))->nfrags;
	if (h->nfrags == 1) {
		h->one.node = NODE_ANY;
		return;
	}
	h->many = mem_alloc(h->nfrags * sizeof *h->many);
	for (uint32_t i = 0; i < h->nfrags; i++)
		h->many[i].node = NODE_ANY;
}

static const struct res *shape_need(const struct plan *p, uint32_t shape)
{
	return &p->cluster->shapes.v[shape].need;
}

/* Changes the sum, which has very many steps, once for all fragments of a job: they come and go
 * together. */
static void sum_change(struct plan *p, int64_t start, int64_t end, const struct res *need, int sign)
{
	if (p->pending.start != start || p->pending.end != end) {
		if (p->pending.start != p->pending.end)
			plan_settle(p);
		p->pending.start = start;
		p->pending.end = end;
		p->pending.change = (struct res){0};
	}
	(sign > 0 ? res_add : res_sub)(&p->pending.change, need);
	if (!p->gathering)
		plan_settle(p);
}

/* Returns true if the node is in a partition that the job holds as a whole. A partition may have
 * very many nodes, so instead of walking its ring, the places of the job's fragments are
 * checked. All of them are in the partition, unless the server was restarted with other
 * partitions while the job ran. */
static bool parted(const struct plan *p, enum wholeness whole, int32_t node)
{
	return whole == WHOLE_HOST && p->cluster->nodes.v[node].partition != PARTITION_NONE;
}

static bool in_partition_of(const struct plan *p, uint32_t job, uint32_t frag, int32_t node)
{
	const struct node *all = p->cluster->nodes.v;
	int32_t at = plan_place(p, job, frag)->node;

	return at != NODE_ANY && all[at].partition == all[node].partition;
}

/* Returns true if another fragment of the job is in the node's partition. Neighbours are checked
 * first, because fragments are put and taken in order. */
static bool partition_held(const struct plan *p, uint32_t job, uint32_t frag, int32_t node)
{
	uint32_t n = plan_holds(p, job) ? plan_hold(p, job)->nfrags : 0;

	if ((frag > 0 && frag - 1 < n && in_partition_of(p, job, frag - 1, node)) ||
	    (frag + 1 < n && in_partition_of(p, job, frag + 1, node)))
		return true;
	for (uint32_t i = 0; i < n; i++)
		if (i != frag && in_partition_of(p, job, i, node))
			return true;
	return false;
}

bool plan_whole_held(const struct plan *p, enum wholeness whole, uint32_t job, uint32_t frag, int32_t node)
{
	int32_t n = node;

	if (parted(p, whole, node))
		return partition_held(p, job, frag, node);
	do {
		const piece_vec *v = &p->node[n].pieces;
		for (size_t i = 0; i < v->n; i++)
			if (v->v[i].job == job && v->v[i].frag != frag)
				return true;
		n = plan_next_whole(p, whole, node, n);
	} while (n != node);
	return false;
}

uint32_t plan_whole_first(const struct plan *p, const struct piece *x, int32_t node)
{
	uint32_t first = x->frag;
	int32_t n = node;

	if (parted(p, x->whole, node)) {
		for (uint32_t i = 0; i < first; i++)
			if (in_partition_of(p, x->job, i, node))
				return i;
		return first;
	}
	do {
		const piece_vec *v = &p->node[n].pieces;
		for (size_t i = 0; i < v->n; i++)
			if (v->v[i].job == x->job && v->v[i].frag < first)
				first = v->v[i].frag;
		n = plan_next_whole(p, x->whole, node, n);
	} while (n != node);
	return first;
}

/* Takes a piece from (sign -1) or returns it to (1) the timelines of a node. A live piece holds
 * its node from the beginning of time. */
static void line_count(struct plan *p, int32_t node, const struct piece *x, const struct res *need, int sign)
{
	int64_t start = x->live ? TIME_BEGIN : x->start, from, until;

	changes_follow(p, node, x, sign);
	trail_add(&p->trail, start, x->end);
	while (plan_unbooked_span(&p->node[node], &start, x->end, &from, &until)) {
		timeline_change(&p->node[node].line, from, until, need, sign);
		if (p->nnodes > 1)
			sum_change(p, from, until, need, sign);
		if (sign > 0 && until > p->released)
			p->released = until;
	}
	p->given += sign > 0 && !p->undoing;
	if (x->live)
		free_add(p, node, sign * need->v[RES_CPU]);
}

/* Does the same for a piece whose job keeps others from its nodes. */
static void whole_count(struct plan *p, int32_t node, const struct piece *x, int sign)
{
	int32_t n = node;

	do {
		if (p->cluster->nodes.v[n].up)
			line_count(p, n, x, &p->total[n], sign);
		n = plan_next_whole(p, x->whole, node, n);
	} while (n != node);
}

/* Takes or returns a job's portions of the site's amounts, which its first fragment holds. They
 * count by the keys that the job had when it was placed. */
static void portions_count(struct plan *p, const struct piece *x, int sign)
{
	const struct request *r = cluster_job_request(p->cluster, cluster_job(p->cluster, x->job));

	if (x->frag || !r->nportions)
		return;
	for (uint32_t i = 0; i < r->nportions; i++) {
		struct res need = {.v = {r->portion[i].count}};
		int64_t start = x->live ? TIME_BEGIN : x->start;
		timeline_change(&p->amount.v[r->portion[i].amount], start, x->end, &need, sign);
		for (size_t k = 0; k < p->kept.n; k++)
			if (p->kept.v[k].amount == r->portion[i].amount &&
			    !plan_has_key(p, plan_hold(p, x->job)->keys, p->kept.v[k].fence.id))
				timeline_change(&p->kept.v[k].room, start, x->end, &need, sign);
	}
}

static void lines_count(struct plan *p, int32_t node, const struct piece *x, int sign)
{
	if (!x->whole)
		line_count(p, node, x, shape_need(p, x->shape), sign);
	else if (!plan_whole_held(p, x->whole, x->job, x->frag, node))
		whole_count(p, node, x, sign);
}

/* Updates everything but the timelines. */
static void books_count(struct plan *p, int32_t node, const struct piece *x, int sign)
{
	p->version++;
	if (x->whole) {
		changes_follow(p, node, x, sign); /* the lines need not have changed */
		p->wholes -= (uint32_t)sign;
	}
	if (x->whole == WHOLE_HOST)
		p->machines -= (uint32_t)sign;
	if (!x->live) {
		p->nreserved -= (uint32_t)sign;
		if (p->nreserved == 0)
			p->horizon = p->last_booking;
		else if (x->start > p->horizon)
			p->horizon = x->start;
	}
	if (!x->running && !x->fixed) {
		p->node[node].loose -= (uint32_t)sign;
		p->loose -= (uint32_t)sign;
	}
}

static uint32_t keys_of(const struct plan *p, uint32_t job)
{
	return cluster_job(p->cluster, job)->keys;
}

/* Adds a piece at a slot; the piece that was there moves to the end (the exact inverse of
 * piece_remove). */
static void piece_add(struct plan *p, int32_t node, uint32_t slot, const struct piece *x, uint32_t keys)
{
	piece_vec *v = &p->node[node].pieces;

	if (v->cap == 0) { /* most nodes have few, and there may be very many nodes */
		v->v = mem_alloc(PIECES_FIRST * sizeof *v->v);
		v->cap = PIECES_FIRST;
	}
	vec_push(v, *x);
	if (slot != v->n - 1) {
		v->v[v->n - 1] = v->v[slot];
		v->v[slot] = *x;
		place_of(p, v->v[v->n - 1].job, v->v[v->n - 1].frag)->slot = (uint32_t)v->n - 1;
	}
	*place_of(p, x->job, x->frag) = (struct place){node, slot};
	plan_hold(p, x->job)->placed++;
	if (x->frag == 0)
		plan_hold(p, x->job)->keys = keys;
	lines_count(p, node, x, -1);
	portions_count(p, x, -1);
	books_count(p, node, x, -1);
}

/* Removes the piece at a slot; the last piece takes its slot. */
static void piece_remove(struct plan *p, int32_t node, uint32_t slot)
{
	piece_vec *v = &p->node[node].pieces;
	struct piece x = v->v[slot];

	if (slot != v->n - 1) {
		v->v[slot] = v->v[v->n - 1];
		place_of(p, v->v[slot].job, v->v[slot].frag)->slot = slot;
	}
	v->n--;
	place_of(p, x.job, x.frag)->node = NODE_ANY;
	plan_hold(p, x.job)->placed--;
	lines_count(p, node, &x, 1);
	portions_count(p, &x, 1);
	books_count(p, node, &x, 1);
}

static void gather_end(struct plan *p)
{
	if (--p->gathering == 0 && p->pending.start != p->pending.end)
		plan_settle(p);
}

plan_mark plan_begin(struct plan *p)
{
	p->depth++;
	p->gathering++;
	return p->log.n;
}

static void plan_close(struct plan *p)
{
	assert(p->depth > 0);
	if (--p->depth == 0)
		p->log.n = 0;
	gather_end(p);
}

void plan_rollback(struct plan *p, plan_mark mark)
{
	p->undoing = true;
	while (p->log.n > mark) {
		struct undo u = p->log.v[--p->log.n];
		if (u.what == UNDO_PUT)
			piece_remove(p, u.node, u.slot);
		else
			piece_add(p, u.node, u.slot, &u.piece, u.keys);
	}
	p->undoing = false;
	plan_close(p);
}

void plan_commit(struct plan *p, plan_mark mark)
{
	assert(mark <= p->log.n);
	plan_close(p);
}

static void plan_log(struct plan *p, int what, int32_t node, uint32_t slot, const struct piece *x)
{
	if (p->depth)
		vec_push(&p->log, (struct undo){*x, node, slot, plan_hold(p, x->job)->keys, what});
}

static void put(struct plan *p, uint32_t job, uint32_t frag, int32_t node, int64_t start, int64_t end, bool live)
{
	hold_open(p, job);
	assert(place_of(p, job, frag)->node == NODE_ANY);

	const struct request *r = cluster_job_request(p->cluster, cluster_job(p->cluster, job));
	const struct frag *f = &r->frag[frag];
	struct piece x = {
		.start = start,
		.end = end,
		.job = job,
		.frag = frag,
		.shape = f->shape,
		.live = live,
		.fixed = f->node != NODE_ANY,
		.whole = r->whole,
	};
	uint32_t slot = (uint32_t)p->node[node].pieces.n;

	piece_add(p, node, slot, &x, keys_of(p, job));
	plan_log(p, UNDO_PUT, node, slot, &x);
}

void plan_put(struct plan *p, uint32_t job, uint32_t frag, int32_t node, int64_t start, int64_t end)
{
	put(p, job, frag, node, start, end, start <= p->now);
}

void plan_adopt(struct plan *p, const struct plan *from, uint32_t job)
{
	for (uint32_t i = 0; i < plan_hold(from, job)->nfrags; i++) {
		const struct piece *x = plan_piece(from, job, i);
		put(p, job, i, plan_place(from, job, i)->node, x->start, x->end, x->live);
	}
}

void plan_take(struct plan *p, uint32_t job, uint32_t frag)
{
	struct place at = *place_of(p, job, frag);

	assert(at.node != NODE_ANY);

	struct piece x = p->node[at.node].pieces.v[at.slot];

	piece_remove(p, at.node, at.slot);
	plan_log(p, UNDO_TAKE, at.node, at.slot, &x);
}

/* A job's pieces are far apart in memory: cache misses took half of the time of removing it. */
static void place_prefetch(const struct plan *p, const struct place *at)
{
	const struct plan_node *n;

	if (at->node == NODE_ANY)
		return;
	n = &p->node[at->node];
	__builtin_prefetch(&n->pieces.v[at->slot]);
	__builtin_prefetch(n->line.first.v);
}

void plan_take_job(struct plan *p, uint32_t job)
{
	if (!plan_holds(p, job))
		return;
	p->gathering++;
	for (uint32_t i = 0; i < plan_hold(p, job)->nfrags && plan_hold(p, job)->placed; i++) {
		if (i + AHEAD < plan_hold(p, job)->nfrags)
			place_prefetch(p, place_of(p, job, i + AHEAD));
		if (place_of(p, job, i)->node != NODE_ANY)
			plan_take(p, job, i);
	}
	gather_end(p);
	if (!p->depth) {
		if (plan_hold(p, job)->nfrags > 1)
			free(plan_hold(p, job)->many);
		*plan_hold(p, job) = (struct hold){0};
	}
}

void plan_forget(struct plan *p, uint32_t job)
{
	if (job >= p->holds.n)
		return;
	assert(plan_hold(p, job)->placed == 0);
	if (plan_hold(p, job)->nfrags > 1)
		free(plan_hold(p, job)->many);
	*plan_hold(p, job) = (struct hold){0};
}

void plan_release(struct plan *p, uint32_t job)
{
	uint32_t first = job - job % ROWS_PAGE;

	hold_ready(p, first + ROWS_PAGE - 1);
	for (uint32_t i = 0; i < ROWS_PAGE; i++)
		plan_forget(p, first + i);
	rows_release(&p->holds, job);
}

void plan_touched(const struct plan *p, plan_mark mark, job_vec *ret)
{
	for (size_t i = mark; i < p->log.n; i++) {
		uint32_t job = p->log.v[i].piece.job;
		size_t k = 0;
		while (k < ret->n && ret->v[k] != job)
			k++;
		if (k == ret->n)
			vec_push(ret, job);
	}
}

int64_t plan_end_before(const struct plan *p, plan_mark mark, uint32_t job)
{
	while (p->log.v[mark].piece.job != job)
		mark++;
	return p->log.v[mark].piece.end;
}

/* Replaces a piece by an altered copy of itself, in its slot; the job's other pieces follow. */
static void piece_replace(struct plan *p, struct place at, const struct piece *y)
{
	struct piece *x = &p->node[at.node].pieces.v[at.slot];
	void (*lines)(struct plan *, int32_t, const struct piece *, int) = x->whole ? whole_count : lines_count;

	assert(!p->depth);
	if (x->whole && plan_whole_first(p, x, at.node) != x->frag)
		lines = NULL; /* what the pieces hold together changes with the first of them */
	if (lines)
		lines(p, at.node, x, 1);
	portions_count(p, x, 1);
	books_count(p, at.node, x, 1);
	*x = *y;
	if (x->frag == 0)
		plan_hold(p, x->job)->keys = keys_of(p, x->job);
	portions_count(p, x, -1);
	if (lines)
		lines(p, at.node, x, -1);
	books_count(p, at.node, x, -1);
}

/* Returns true if a piece has room on a node's timeline, outside bookings. */
static bool line_fits(const struct plan *p, int32_t node, const struct piece *x, const struct res *need)
{
	int64_t start = x->start, from, until;

	while (plan_unbooked_span(&p->node[node], &start, x->end, &from, &until))
		if (!timeline_fits(&p->node[node].line, from, until, need))
			return false;
	return true;
}

/* Returns true if a piece of a running job, taken out of the plan, fits on a node. */
static bool piece_fits(const struct plan *p, int32_t node, const struct piece *x)
{
	int32_t n = node;

	if (!x->whole)
		return line_fits(p, node, x, shape_need(p, x->shape));
	if (plan_whole_held(p, x->whole, x->job, x->frag, node))
		return true;
	do {
		if (p->cluster->nodes.v[n].up && !line_fits(p, n, x, &p->total[n]))
			return false;
		n = plan_next_whole(p, x->whole, node, n);
	} while (n != node);
	return true;
}

/* Returns true if extending a piece to `end` makes it run into a booking, or into a fence that
 * it does not pass. */
static bool runs_into_other(const struct plan *p, int32_t node, const struct piece *x, int64_t end)
{
	const struct job *job = cluster_job(p->cluster, x->job);
	int32_t n = node;

	do {
		if (end > x->end && (plan_booked(p, (uint32_t)n, x->end, end) ||
				     (plan_has_fences(p, job) && !plan_passes(p, job, (uint32_t)n, x->end, end, NULL))))
			return true;
		n = plan_next_whole(p, x->whole, node, n);
	} while (n != node);
	return false;
}

void plan_set_end(struct plan *p, uint32_t job, int64_t end)
{
	for (uint32_t i = 0; i < plan_hold(p, job)->nfrags; i++) {
		struct place at = *place_of(p, job, i);
		struct piece y = p->node[at.node].pieces.v[at.slot];
		y.end = end;
		piece_replace(p, at, &y);
	}
}

bool plan_cut(struct plan *p, uint32_t job, int64_t end)
{
	plan_mark mark = plan_begin(p);
	uint32_t nfrags = plan_hold(p, job)->nfrags;
	struct undo *was = mem_alloc(nfrags * sizeof *was);
	int64_t before = plan_piece(p, job, 0)->end;
	bool fits = true;

	for (uint32_t i = 0; i < nfrags; i++) {
		struct place at = *place_of(p, job, i);
		was[i] = (struct undo){.piece = p->node[at.node].pieces.v[at.slot], .node = at.node};
		fits = fits && !runs_into_other(p, at.node, &was[i].piece, end);
		was[i].piece.start = p->now;
		was[i].piece.end = end;
		plan_take(p, job, i);
	}
	for (uint32_t i = 0; i < nfrags && fits; i++) {
		uint32_t slot = (uint32_t)p->node[was[i].node].pieces.n;
		fits = piece_fits(p, was[i].node, &was[i].piece) && (i > 0 || plan_amounts_fit(p, job, p->now, end));
		piece_add(p, was[i].node, slot, &was[i].piece, keys_of(p, job));
		plan_log(p, UNDO_PUT, was[i].node, slot, &was[i].piece);
	}
	for (uint32_t i = 0; i < nfrags && fits && before < end; i++) {
		was[i].piece.start = before;
		fits = plan_rest_kept(p, (uint32_t)was[i].node, &was[i].piece);
	}
	free(was);
	if (fits)
		plan_commit(p, mark);
	else
		plan_rollback(p, mark);
	return fits;
}

/* ---- changed totals and dimensions ---- */

static void line_anew(struct plan *p, uint32_t node)
{
	const struct node *n = &p->cluster->nodes.v[node];
	struct plan_node *at = &p->node[node];
	struct res none = {0};

	timeline_fini(&at->line);
	timeline_init(&at->line, p->cluster->nres, n->up ? &p->total[node] : &none);
	for (size_t i = 0; n->up && at->bookings && i < at->bookings->n; i++) {
		const struct booking *b = &at->bookings->v[i];
		timeline_change(&at->line, b->start, b->end, &p->total[node], -1);
		if (p->nnodes > 1)
			sum_change(p, b->start, b->end, &p->total[node], -1);
	}
}

/* Rebuilds all timelines from bookings and pieces. */
static void lines_anew(struct plan *p)
{
	struct res total = {0};

	assert(!p->depth);
	plan_settle(p);
	for (uint32_t n = 0; n < p->nnodes; n++) {
		p->free_now[n] = p->cluster->nodes.v[n].up ? (int32_t)p->total[n].v[RES_CPU] : 0;
		if (p->cluster->nodes.v[n].up)
			res_add(&total, &p->total[n]);
	}
	free_made(p);
	changes_forget_all(p);
	trail_add(&p->trail, TIME_BEGIN, TIME_NEVER);
	timeline_fini(&p->sum);
	timeline_init(&p->sum, p->cluster->nres, &total);
	timeline_fini(&p->scratch);
	timeline_init(&p->scratch, p->cluster->nres, &total);
	for (uint32_t n = 0; n < p->nnodes; n++)
		line_anew(p, n);
	for (uint32_t n = 0; n < p->nnodes; n++)
		for (size_t i = 0; i < p->node[n].pieces.n; i++) {
			const struct piece *x = &p->node[n].pieces.v[i];
			if (!x->whole)
				line_count(p, (int32_t)n, x, shape_need(p, x->shape), -1);
			else if (plan_whole_first(p, x, (int32_t)n) == x->frag)
				whole_count(p, (int32_t)n, x, -1);
		}
	plan_settle(p);
	p->version++;
	p->given++;
}

void plan_widen(struct plan *p)
{
	if (p->scratch.stride != 1 + (uint32_t)p->cluster->nres)
		lines_anew(p);
}

void plan_resize_node(struct plan *p, uint32_t node)
{
	p->total[node] = p->cluster->nodes.v[node].total;
	lines_anew(p);
}

void plan_run(struct plan *p, uint32_t job)
{
	for (uint32_t i = 0; i < plan_hold(p, job)->nfrags; i++) {
		struct place at = *place_of(p, job, i);
		struct piece *x = &p->node[at.node].pieces.v[at.slot], y = *x;
		y.live = y.running = true;
		if (x->live) { /* already counted in the timelines */
			if (!x->fixed) {
				p->node[at.node].loose--;
				p->loose--;
			}
			*x = y;
		} else {
			piece_replace(p, at, &y);
		}
	}
}

void plan_nodes(const struct plan *p, uint32_t job, int32_t *nodes)
{
	for (uint32_t i = 0; i < plan_hold(p, job)->nfrags; i++)
		nodes[i] = plan_place(p, job, i)->node;
}

/* Takes the node for (sign -1), or returns it from (1), jobs on other nodes that hold its whole
 * machine. */
static void node_count_held(struct plan *p, int32_t node, int sign)
{
	for (int32_t n = p->cluster->nodes.v[node].peer; n != node; n = p->cluster->nodes.v[n].peer)
		for (size_t i = 0; i < p->node[n].pieces.n; i++) {
			const struct piece *x = &p->node[n].pieces.v[i];
			if (x->whole == WHOLE_HOST && plan_whole_first(p, x, n) == x->frag)
				line_count(p, node, x, &p->total[node], sign);
		}
}

void plan_node_up(struct plan *p, uint32_t node, bool up)
{
	const struct node *n = &p->cluster->nodes.v[node];
	int64_t start = TIME_BEGIN, from, until;

	assert(p->node[node].pieces.n == 0);
	p->node[node].up = up;
	p->given++;
	p->changes[node / FREE_BLOCK] = TIME_BEGIN;
	trail_add(&p->trail, TIME_BEGIN, TIME_NEVER);
	while (plan_unbooked_span(&p->node[node], &start, TIME_NEVER, &from, &until)) {
		timeline_change(&p->node[node].line, from, until, &n->total, up ? 1 : -1);
		timeline_change(&p->sum, from, until, &n->total, up ? 1 : -1);
	}
	free_add(p, (int32_t)node, up ? n->total.v[RES_CPU] : -n->total.v[RES_CPU]);
	node_count_held(p, (int32_t)node, up ? -1 : 1);
}

void plan_apply(struct plan *p, const struct event *event)
{
	const struct job *job = cluster_job(p->cluster, event->job);
	bool later = event->type == EVENT_ALLOCATE || event->type == EVENT_KEEP;
	int64_t start = later ? event->at : event->time;
	int64_t end = later ? cluster_end(p->cluster, job, start) : event->at;

	switch ((enum event_type)event->type) {
	case EVENT_ALLOCATE:
	case EVENT_KEEP:
	case EVENT_START:
	case EVENT_MIGRATE:
		plan_take_job(p, event->job);
		for (uint32_t i = 0; i < event->nnodes; i++)
			plan_put(p, event->job, i, event->nodes[i], start, end);
		if (!later)
			plan_run(p, event->job);
		break;
	case EVENT_HOLD:
	case EVENT_DEALLOCATE:
	case EVENT_START_FAILED:
	case EVENT_PREEMPT:
	case EVENT_FINISH:
	case EVENT_EXPIRE:
	case EVENT_DELETE:
		plan_take_job(p, event->job);
		break;
	default:
		break;
	}
}
