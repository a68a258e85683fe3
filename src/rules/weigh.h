/*
 * weigh.h - the order of waiting jobs: ranks by time of submission and queue, and how priorities
 * exchange them. The lowest rank is first.
 */
#ifndef RULES_WEIGH_H
#define RULES_WEIGH_H

#include <stddef.h>
#include <stdint.h>

#include "rules/attr.h"

/* Returns the rank of a job submitted at an instant, in seconds, to a queue (may be NULL): each
 * point of the queue's priority counts as a minute. */
double weigh_rank(const struct attrs *queue, double submitted);

/* Returns the rank of a job moved between queues, as if it had been submitted to the new one. */
double weigh_moved(const struct attrs *from, const struct attrs *to, double rank);

/* A waiting job. */
struct rung {
	double rank;
	int priority; /* set by its user, among the user's own jobs */
	uint32_t job;
};

/* Redistributes the ranks of a user's jobs among them: higher priority first, then in their
 * present order. The array ends up in the new order, with the new ranks. */
void weigh_share(struct rung *v, size_t n);

/* Moves jobs behind another. `others`: all other waiting jobs, in any order; `after`: the one to
 * go behind, or NULL to go first. `last`: rank at which those of future jobs begin. Gives new
 * ranks to `moved`, which keep their order, and, where the gap is too small, to some of the
 * others, which it puts at the start of `others`; returns their number. Ranks are stored in
 * microseconds, and new ones are distinct in that unit. */
size_t weigh_insert(struct rung *others, size_t n, const struct rung *after, struct rung *moved, size_t k, double last);

#endif
