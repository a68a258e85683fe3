/*
 * booking.h - nodes that are taken over an interval by something other than a job.
 *
 * A booking is a piece of the plan that is not a job's: all of a node, over [start, end). It belongs to an *owner*, such as the end
 * of a node's life (it leaves the cluster at a known time). Reservations, which some jobs may use, are fences instead (fence.h).
 *
 * Nothing is free where a booking is, and what a job holds there does not count: a job that was running when the booking was made
 * may last into it. Nothing else is placed there, since nothing is free. Bookings of one node don't overlap.
 */
#ifndef PLAN_BOOKING_H
#define PLAN_BOOKING_H

#include "plan/plan.h"

/* Whether the node has no other booking in [start, end). */
bool plan_can_book(const struct plan *p, uint32_t node, int64_t start, int64_t end);
/* Books a node, outside a transaction; plan_can_book() holds. What is reserved for jobs there has to leave first; what runs
 * may stay. */
void plan_book(struct plan *p, uint32_t node, struct owner owner, int64_t start, int64_t end);
/* Takes the bookings of an owner off a node. */
void plan_unbook(struct plan *p, uint32_t node, struct owner owner);

/* The booking of a node that an interval runs into first; NULL: none. */
const struct booking *plan_booked(const struct plan *p, uint32_t node, int64_t start, int64_t end);

/* For what counts a piece: the first span of [*start, end) in which the node is not booked. False: there is none. *start is moved
 * behind it. */
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
