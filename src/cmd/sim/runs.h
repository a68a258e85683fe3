/*
 * runs.h - runs several simulations of one workload in parallel: every policy on the workload as
 * recorded, and on shaken copies of it.
 */
#ifndef CMD_RUNS_H
#define CMD_RUNS_H

#include <stddef.h>

#include "sched/policy.h"
#include "sim/metrics.h"
#include "sim/sim.h"
#include "sim/workload.h"

#define SHAKE_SECONDS 300

/* One simulation and its results. */
struct run {
	const struct policy *policy;
	int copy; /* 0: as recorded; else the number of the shaken copy */
	struct metrics metrics;
	struct simulated *outcome; /* NULL for shaken copies */
	int64_t n, procs, refused;
	int64_t stranded; /* jobs that waited forever: the scheduler's fault */
	/* jobs without a place on the empty machine, though there may be one */
	int64_t unsure;
	struct refusals unfit, unruled;
	double seconds;
	struct sched_stats stats;
	uint64_t pushes;
	struct nearness near, apart;
};

/* Returns the measure at an offset in struct metrics. */
static inline double run_measure(const struct run *run, size_t at)
{
	return *(const double *)((const char *)&run->metrics + at);
}

/* {0} is empty. */
struct runs {
	struct run *run;	    /* run[copy * policies + policy] */
	struct simulated *outcomes; /* storage of the runs' `outcome` */
	int n, policies, copies;    /* n = policies * (copies + 1) */
	int64_t jobs;		    /* jobs in the workload */
};

/* Runs each of `count` policies on the workload as recorded, and on `copies` copies of it, copy k
 * shaken with rng_seed_of(seed, k). `cores` 0: as many at a time as there are cores; 1: everything
 * runs in this process. Returns 0, or the first failure; the caller frees with runs_fini() in
 * either case. */
int runs_make(struct runs *r, const struct policy *const *policy, int count, int copies, const struct workload *w,
	      const struct sim_options *o, uint64_t seed, int cores, struct err *err);
void runs_fini(struct runs *r);

#endif
