/*
 * cover.h - the smallest cover: as many jobs as possible on as few nodes as possible (Listrovoy and Minukhin, 2012).
 *
 * Given is which job may run on which node, what each job needs and what each node has free. A solution gives jobs nodes within these
 * capacities. Better is the one with more jobs, and of those with equally many the one that uses fewer nodes. Nodes that are in use
 * anyway cost nothing.
 *
 * First greedy, then, unless a bound proves that nothing is better, an exact search for small instances and a local search for others. All
 * are bounded by a number of steps, not by a clock: equal instances have equal solutions.
 */
#ifndef PLAN_COVER_H
#define PLAN_COVER_H

#include <stdbool.h>
#include <stdint.h>

#define COVER_NODES_MAX 256 /* of an instance: more jobs than that, or nodes, are left out by the caller */
#define COVER_JOBS_MAX 256
#define COVER_DIMS 6 /* those that have no names of the site */
#define COVER_NONE (-1)

struct cover {
	int jobs, nodes, dims;
	int64_t need[COVER_JOBS_MAX][COVER_DIMS];
	int64_t room[COVER_NODES_MAX][COVER_DIMS];
	bool used[COVER_NODES_MAX];			    /* in use anyway */
	uint64_t may[COVER_JOBS_MAX][COVER_NODES_MAX / 64]; /* bit: the node */
};

struct cover_answer {
	int node[COVER_JOBS_MAX]; /* COVER_NONE: the job is left out */
	int jobs, nodes;	  /* jobs that have one, and nodes that are used by them and were not before */
	int most_jobs;		  /* no solution has more jobs than this ... */
	int least_nodes;	  /* ... and none with this one's number of jobs fewer nodes */
	bool exact;		  /* proved to be the best */
	uint64_t steps;
};

static inline bool cover_may(const struct cover *c, int job, int node)
{
	return c->may[job][node / 64] >> (node % 64) & 1;
}

static inline void cover_allow(struct cover *c, int job, int node)
{
	c->may[job][node / 64] |= UINT64_C(1) << (node % 64);
}

/* The greedy solution alone: the node that takes the most jobs, and again. */
void cover_greedy(const struct cover *c, struct cover_answer *ret);
/* The best that is found in so many steps (a step looks at one node for one job); never worse than the greedy one. */
void cover_solve(const struct cover *c, uint64_t steps, struct cover_answer *ret);
/* Whether `a` is better than `b`. */
bool cover_better(const struct cover_answer *a, const struct cover_answer *b);

#endif
