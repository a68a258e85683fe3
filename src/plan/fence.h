/*
 * fence.h - nodes kept for some jobs over an interval: how reservations (rules/reservation.h)
 * appear in the plan.
 *
 * A fence does not reduce the free resources; it limits which jobs may be placed there. A job
 * passes the fences whose ids are among its keys (job.keys). A job bound to an id (job.bound) may
 * be placed only behind the fences of that id, from its start to its end. A job that was running
 * when a fence was put up may run into it. Fences of one node do not overlap: the caller decides
 * which applies where two reservations meet.
 *
 * A fence with a part (fence.part) keeps only that much of the node. Jobs without the key share the
 * rest; jobs with the key may use everything. Jobs that take whole nodes or partitions do not pass
 * such a fence without the key. The rest is computed from the node's pieces on demand; nothing is
 * pushed or removed to free part of it.
 *
 * Amounts of the site are kept in the same way: a number of units over an interval. Jobs without
 * the key share the rest; jobs with the key may use everything.
 *
 * Lookups are logarithmic in the number of fences of a node.
 */
#ifndef PLAN_FENCE_H
#define PLAN_FENCE_H

#include "plan/plan.h"

/* Puts up a fence, outside a transaction; the node must have no other in its interval. The
 * caller removes jobs that do not pass and are planned there but not live. */
void plan_fence(struct plan *p, uint32_t node, const struct fence *f);
/* Keeps `count` units of an amount for jobs with the key over an interval; other jobs share the
 * rest. Must be called outside a transaction. */
void plan_keep(struct plan *p, uint32_t amount, int64_t count, const struct fence *f);
bool plan_has_key(const struct plan *p, uint32_t keys, uint32_t id);
/* Removes all fences. */
void plan_unfence(struct plan *p);

/* Returns true if fences allow the job on the node over [start, end). Otherwise *ret (unless
 * NULL) is the first fence it does not pass, or NULL if the job is bound and is not behind its
 * fence there. */
bool plan_passes(const struct plan *p, const struct job *job, uint32_t node, int64_t start, int64_t end,
		 const struct fence **ret);
/* Writes the most of the node that fences with parts keep from the job at any time in
 * [start, end). */
void plan_parts(const struct plan *p, const struct job *job, uint32_t node, int64_t start, int64_t end,
		struct res *ret);
/* Writes the least that fences with parts leave the job on the node over [start, end), next to
 * other jobs without their keys that are placed there. Returns false if no such fence concerns
 * the job. *ret_fence (unless NULL) is the first that does. */
bool plan_rest(const struct plan *p, const struct job *job, uint32_t node, int64_t start, int64_t end, struct res *ret,
	       const struct fence **ret_fence);
/* Returns how many copies of `need` fit into that rest, or INT64_MAX if nothing is kept from the
 * job. */
int64_t plan_rest_copies(const struct plan *p, uint32_t job, uint32_t node, int64_t start, int64_t end,
			 const struct res *need);
/* Returns true if the piece and the other jobs without the keys stay within the rest in every
 * dimension that the piece needs. */
bool plan_rest_kept(const struct plan *p, uint32_t node, const struct piece *x);
/* Returns the earliest instant >= from at which fences allow the job on the node for `length`
 * seconds, or TIME_NEVER. */
int64_t plan_opens(const struct plan *p, const struct job *job, uint32_t node, int64_t from, int64_t length);
/* Returns the first instant after `when` at which a fence begins or ends, or TIME_NEVER. */
int64_t plan_next_edge(const struct plan *p, int64_t when);

/* Ignores all fences until plan_lower_fences() is called with the value returned here. Serves
 * questions such as "what if there were no reservations". */
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

/* Returns true if fences could restrict the job. */
static inline bool plan_has_fences(const struct plan *p, const struct job *job)
{
	return p->edges.n || job->bound;
}

/* Returns plan_passes() for a piece on a node; with whole machines, for all nodes of the
 * machine. */
bool plan_piece_passes(const struct plan *p, const struct job *job, enum wholeness whole, int32_t node, int64_t start,
		       int64_t end);

#endif
