/*
 * fence.h - nodes that are kept for some jobs over an interval: what reservations (rules/reservation.h) become in the plan.
 *
 * A fence takes nothing from what is free; it limits who may be put there. A job passes the fences whose ids are among its keys (job.keys). One that is
 * bound to an id (job.bound) is put nowhere but behind the fences of that id, from its start to its end. A job that was running when a fence was put up
 * may last into it. Fences of one node don't overlap: the caller resolves what holds where two reservations meet.
 *
 * A fence with a part (fence.part) keeps that much of the node: jobs without the key have the rest together, and those with it may use all. Jobs
 * that take whole nodes or partitions don't pass it without the key. The rest is computed from the node's pieces when it is needed; nothing is
 * pushed or removed to make room in it.
 *
 * Amounts of the site are kept in the same way: a number of them over an interval. Jobs without the key have the rest together, and those with it may use all.
 *
 * Lookups are logarithmic in the number of fences of a node.
 */
#ifndef PLAN_FENCE_H
#define PLAN_FENCE_H

#include "plan/plan.h"

/* Puts up a fence, outside a transaction; the node has no other in its interval. Jobs that don't pass and have a place there that is not live have to leave it. */
void plan_fence(struct plan *p, uint32_t node, const struct fence *f);
/* Over an interval so many of an amount are kept for those with the key: others have the rest of it together. Outside a transaction. */
void plan_keep(struct plan *p, uint32_t amount, int64_t count, const struct fence *f);
bool plan_has_key(const struct plan *p, uint32_t keys, uint32_t id);
/* Takes all fences down. */
void plan_unfence(struct plan *p);

/* Whether a job may be put on a node over [start, end), as far as fences go. If not, *ret (unless NULL) is the first that it does not pass; NULL: it is
 * bound, and is not behind its fence there. */
bool plan_passes(const struct plan *p, const struct job *job, uint32_t node, int64_t start, int64_t end,
		 const struct fence **ret);
/* Writes the least that fences with parts leave a job on a node over [start, end), beside the other jobs without their keys
 * that have a place there; false: no such fence concerns it. *ret_fence (unless NULL) is the first that does. */
bool plan_rest(const struct plan *p, const struct job *job, uint32_t node, int64_t start, int64_t end, struct res *ret,
	       const struct fence **ret_fence);
/* Returns how many copies of `need` fit into that rest; INT64_MAX: nothing is kept from the job. */
int64_t plan_rest_copies(const struct plan *p, uint32_t job, uint32_t node, int64_t start, int64_t end,
			 const struct res *need);
/* Returns true if a piece on a node, and the others without the keys, have no more than the rest of what the piece needs. */
bool plan_rest_kept(const struct plan *p, uint32_t node, const struct piece *x);
/* The earliest instant >= from at which it may be put there for that long; TIME_NEVER: none. */
int64_t plan_opens(const struct plan *p, const struct job *job, uint32_t node, int64_t from, int64_t length);
/* The first instant after `when` at which a fence begins or ends; TIME_NEVER: none. */
int64_t plan_next_edge(const struct plan *p, int64_t when);

/* For questions such as "what if there were none": fences don't count until they are lowered again with what this returned. */
static inline size_t plan_lift_fences(struct plan *p)
{
	size_t edges = p->edges.n;

	p->edges.n = 0;
	return edges;
}

static inline void plan_lower_fences(struct plan *p, size_t edges)
{
	p->edges.n = edges;
}

/* Whether fences say anything about a job. */
static inline bool plan_has_fences(const struct plan *p, const struct job *job)
{
	return p->edges.n || job->bound;
}

/* plan_passes() for a piece on a node: with whole machines for all of the machine's nodes. */
bool plan_piece_passes(const struct plan *p, const struct job *job, enum wholeness whole, int32_t node, int64_t start,
		       int64_t end);

#endif
