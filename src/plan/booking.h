/*
 * booking.h - nodes taken over an interval by something other than a job.
 *
 * A booking is a piece of the plan that no job owns: all of a node over [start, end). It belongs to
 * an *owner*, such as the end of a node's life (the node leaves the cluster at a known time).
 * Reservations, which some jobs may use, are fences instead (fence.h).
 *
 * Nothing is free during a booking, and pieces of jobs inside it are not counted: a job that was
 * already running when the booking was made may run into it. No other job can be placed there.
 * Bookings of one node do not overlap.
 */
#ifndef PLAN_BOOKING_H
#define PLAN_BOOKING_H

#include "plan/plan.h"

/* Returns true if the node has no other booking in [start, end). */
bool plan_can_book(const struct plan *p, uint32_t node, int64_t start, int64_t end);
/* Books a node, outside a transaction; plan_can_book() must hold. The caller first removes jobs
 * reserved there; running jobs may stay. */
void plan_book(struct plan *p, uint32_t node, struct owner owner, int64_t start, int64_t end);
/* Removes an owner's bookings from a node. */
void plan_unbook(struct plan *p, uint32_t node, struct owner owner);

/* Returns the node's first booking that overlaps [start, end), or NULL. */
const struct booking *plan_booked(const struct plan *p, uint32_t node, int64_t start, int64_t end);

/* Finds the first span of [*start, end) in which the node is not booked, and moves *start past
 * it. Returns false if there is none. Used to count pieces. */
bool plan_next_unbooked(const struct plan_node *n, int64_t *start, int64_t end, int64_t *ret_start, int64_t *ret_end);

static inline bool plan_unbooked_span(const struct plan_node *n, int64_t *start, int64_t end, int64_t *ret_start,
				      int64_t *ret_end)
{
	if (n->bookings)
		return plan_next_unbooked(n, start, end, ret_start, ret_end);
	*ret_start = *start;
	*ret_end = end;
	*start = end;
	return *ret_start < end;
}

#endif
