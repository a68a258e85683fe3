/*
 * cover.h - the smallest cover: as many jobs as possible on as few nodes as possible (Listrovoy and
 * Minukhin, 2012).
 *
 * The input is which job may run on which node, the resources each job needs and the resources each
 * node has free. A solution assigns nodes to jobs within these capacities. A solution with more
 * jobs is better; among those with equally many jobs, the one that uses fewer nodes is better.
 * Nodes already in use cost nothing.
 *
 * The solver starts greedily. Unless a bound proves that result optimal, it continues with an exact
 * search for small instances and a local search for others. All are bounded by a number of steps,
 * not by a clock, so equal instances have equal solutions.
 */
#ifndef PLAN_COVER_H
#define PLAN_COVER_H

#include <stdbool.h>
#include <stdint.h>

/* limits of an instance; the caller leaves out further nodes and jobs */
#define COVER_NODES_MAX 256
#define COVER_JOBS_MAX 256
#define COVER_DIMS 6 /* the built-in dimensions; resources named by the site are not covered */
#define COVER_NONE (-1)

struct cover {
	int jobs, nodes, dims;
	int64_t need[COVER_JOBS_MAX][COVER_DIMS];
	int64_t room[COVER_NODES_MAX][COVER_DIMS];
	bool used[COVER_NODES_MAX];			    /* the node is in use already and costs nothing */
	uint64_t may[COVER_JOBS_MAX][COVER_NODES_MAX / 64]; /* bitmap of the nodes each job may use */
};

struct cover_answer {
	int node[COVER_JOBS_MAX]; /* COVER_NONE: the job is left out */
	int jobs, nodes;	  /* jobs that were given a node; nodes they use that were not in use before */
	int most_jobs;		  /* upper bound: no solution has more jobs */
	int least_nodes;	  /* lower bound: no solution with this many jobs uses fewer nodes */
	bool exact;		  /* proved optimal */
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

/* Computes the greedy solution alone: repeatedly takes the node that holds the most jobs. */
void cover_greedy(const struct cover *c, struct cover_answer *ret);
/* Computes the best solution found in at most `steps` steps, never worse than the greedy one. A
 * step examines one node for one job. */
void cover_solve(const struct cover *c, uint64_t steps, struct cover_answer *ret);
/* Returns true if `a` is better than `b`. */
bool cover_better(const struct cover_answer *a, const struct cover_answer *b);

#endif
