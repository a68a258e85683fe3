/*
 * booking.c - nodes taken by something other than a job.
 */
#include "plan/booking.h"

#include <assert.h>

const struct booking *plan_booked(const struct plan *p, uint32_t node, int64_t start, int64_t end)
{
	const booking_vec *v = p->node[node].bookings;

	for (size_t i = 0; v && i < v->n; i++)
		if (v->v[i].end > start && v->v[i].start < end)
			return &v->v[i];
	return NULL;
}

bool plan_can_book(const struct plan *p, uint32_t node, int64_t start, int64_t end)
{
	return start < end && !plan_booked(p, node, start, end);
}

bool plan_next_unbooked(const struct plan_node *n, int64_t *start, int64_t end, int64_t *ret_start, int64_t *ret_end)
{
	const booking_vec *v = n->bookings;

	for (size_t i = 0; i < v->n && *start < end; i++) {
		if (v->v[i].end <= *start)
			continue;
		if (v->v[i].start > *start) {
			*ret_start = *start;
			*ret_end = v->v[i].start < end ? v->v[i].start : end;
			*start = v->v[i].end;
			return true;
		}
		*start = v->v[i].end;
	}
	*ret_start = *start;
	*ret_end = end;
	*start = end;
	return *ret_start < *ret_end;
}

static void lines_change(struct plan *p, uint32_t node, int64_t start, int64_t end, const struct res *amount, int sign)
{
	if (start >= end)
		return;
	p->changes[node / FREE_BLOCK] = TIME_BEGIN;
	trail_add(&p->trail, start, end);
	timeline_change(&p->node[node].line, start, end, amount, sign);
	if (p->nnodes > 1)
		timeline_change(plan_sum(p), start, end, amount, sign);
	if (sign > 0 && end > p->released)
		p->released = end;
	p->given += sign > 0;
}

/* Takes (sign -1) or gives back (1) what a piece holds of the node in an interval. */
static void piece_change(struct plan *p, uint32_t node, const struct piece *x, int64_t start, int64_t end, int sign)
{
	const struct res *held = x->whole ? &p->total[node] : &p->cluster->shapes.v[x->shape].need;

	lines_change(p, node, x->live || x->start < start ? start : x->start, x->end < end ? x->end : end, held, sign);
}

/* Makes nothing free on the node in an interval (sign -1), or everything that no job holds there
 * (1). */
static void node_change(struct plan *p, uint32_t node, int64_t start, int64_t end, int sign)
{
	int32_t at = (int32_t)node;

	if (!p->cluster->nodes.v[node].up)
		return;
	do { /* also the machine's other nodes: whole-machine jobs there keep others from this node */
		const piece_vec *v = &p->node[at].pieces;
		for (size_t i = 0; i < v->n; i++)
			if (v->v[i].whole ? plan_whole_first(p, &v->v[i], at) == v->v[i].frag &&
						    (at == (int32_t)node || v->v[i].whole == WHOLE_HOST)
					  : at == (int32_t)node)
				piece_change(p, node, &v->v[i], start, end, -sign);
		at = p->cluster->nodes.v[at].peer;
	} while (at != (int32_t)node);
	lines_change(p, node, start, end, &p->total[node], sign);
}

void plan_book(struct plan *p, uint32_t node, struct owner owner, int64_t start, int64_t end)
{
	struct plan_node *n = &p->node[node];
	size_t i;

	assert(!p->depth && plan_can_book(p, node, start, end));
	node_change(p, node, start, end, -1);
	if (!n->bookings)
		n->bookings = mem_zalloc(sizeof *n->bookings);
	vec_push(n->bookings, (struct booking){0});
	for (i = n->bookings->n - 1; i > 0 && n->bookings->v[i - 1].start > start; i--)
		n->bookings->v[i] = n->bookings->v[i - 1];
	n->bookings->v[i] = (struct booking){start, end, owner};
	p->version++;
	if (start > p->last_booking)
		p->last_booking = start;
	if (start > p->horizon)
		p->horizon = start;
}

void plan_unbook(struct plan *p, uint32_t node, struct owner owner)
{
	booking_vec *v = p->node[node].bookings;
	size_t kept = 0;

	assert(!p->depth);
	for (size_t i = 0; v && i < v->n; i++) {
		struct booking b = v->v[i];
		if (b.owner.kind != owner.kind || b.owner.id != owner.id) {
			v->v[kept++] = b;
			continue;
		}
		node_change(p, node, b.start, b.end, 1);
		p->version++;
	}
	if (!v)
		return;
	v->n = kept;
	p->last_booking = TIME_BEGIN;
	for (uint32_t n = 0; n < p->nnodes; n++) {
		const booking_vec *w = p->node[n].bookings;
		if (w && w->n && w->v[w->n - 1].start > p->last_booking)
			p->last_booking = w->v[w->n - 1].start;
	}
}
