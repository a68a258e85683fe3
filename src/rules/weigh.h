/*
 * weigh.h - the order of jobs that wait: ranks, by when they were submitted and to which queue, and how priorities exchange them. The lowest rank is first.
 */
#ifndef RULES_WEIGH_H
#define RULES_WEIGH_H

#include <stddef.h>
#include <stdint.h>

#include "rules/attr.h"

/* The rank of a job that was submitted at an instant, in seconds, to a queue (may be NULL): the queue's priority counts as minutes. */
double weigh_rank(const struct attrs *queue, double submitted);

/* The rank of one that is moved from a queue to another: as if it had been submitted there. */
double weigh_moved(const struct attrs *from, const struct attrs *to, double rank);

/* A job that waits. */
struct rung {
	double rank;
	int priority; /* its user's, among the user's own jobs */
	uint32_t job;
};

/* A user's jobs share out the ranks they have: higher priority first, then in the order they are in. They are left in their new order, with their new
 * ranks. */
void weigh_share(struct rung *v, size_t n);

/* Jobs move to a place behind another. `others`: the jobs that wait, but for `moved`, in any order; `after`: the one of them that they are to be behind, NULL: none,
 * they come first. `last`: what ranks of jobs to come begin with. Gives new ranks to `moved`, which are in their order, and, where there is no room between
 * two of the others, to some of those, which are put at the beginning of `others`; their number is returned. Ranks are microseconds in the store: new ones are
 * distinct there. */
size_t weigh_insert(struct rung *others, size_t n, const struct rung *after, struct rung *moved, size_t k, double last);

#endif
