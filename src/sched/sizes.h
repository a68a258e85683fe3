/*
 * sizes.h - classes of jobs by what they need of nodes, and how long each class can be now.
 *
 * The sum of what is free says little on many nodes: where single CPUs are free on each, a job of
 * whole nodes fits the sum, is tried on the nodes, and fails. So after a failure the plan is asked
 * until when nodes can hold one, two, ... fragments of that size (plan/ahead.h), and scans skip all
 * jobs that need more. That is a bound, never a promise: what is skipped would have failed. Only
 * greedy policies, which choose among the jobs that they find, may find others because of it.
 */
#ifndef SCHED_SIZES_H
#define SCHED_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/ranks.h"

struct job;
struct sched;

/* CPUs of a job's largest fragments, and their number, in steps; the last are open-ended. */
#define SIZES_CPUS 24
#define SIZES_COUNTS 8
/* Classes: the first ones are by all CPUs, in powers of two; then by fragments; then jobs that get
 * a partition, by the set of nodes that they may use. */
#define SIZES_SUMS 16
#define SIZES_SETS (SIZES_SUMS + SIZES_CPUS * SIZES_COUNTS)
#define SIZES_SETS_MOST (RANKS_CLASSES - SIZES_SETS)

/* Until when nodes can hold jobs from `at` on: upper bounds while the plan gives nothing back. */
struct sizes {
	int64_t at;
	uint64_t given; /* plan.given */
	uint64_t made;	/* number of rows made so far */
	/* plan.version when a row was made; 0: not yet */
	uint64_t version[SIZES_CPUS + SIZES_SETS_MOST];
	int64_t fragments[SIZES_CPUS][SIZES_COUNTS], partition[SIZES_SETS_MOST];
	uint32_t set[SIZES_SETS_MOST]; /* sets of nodes that have a class, `nsets` of them */
	unsigned nsets;
	uint64_t used[RANKS_CLASSES / 64]; /* classes that some job has had */
};

/* Returns the class of a job; a set of nodes may get a class. */
unsigned size_class(struct sched *s, const struct job *job);
/* Writes the longest job that may fit now, per class that some job has had. */
void sizes_gap(const struct sched *s, struct gap *ret);
/* Notes that a job, of this class, did not fit on the nodes. */
void sizes_failed(struct sched *s, uint32_t job, unsigned class);
/* Returns true if nodes cannot hold a job of a class for that long. */
bool sizes_refuse(const struct sched *s, unsigned class, int64_t length);

#endif
