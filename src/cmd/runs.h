/*
 * runs.h - several simulations of one workload, as many at a time as there are cores: each is a child process, which
 * leaves its results in memory that both share. A simulation that crashes takes nothing with it.
 */
#ifndef CMD_RUNS_H
#define CMD_RUNS_H

#include <stdbool.h>

#include "sched/policy.h"
#include "sim/metrics.h"
#include "sim/sim.h"
#include "sim/workload.h"

#define SHAKE_SECONDS 300

/* One simulation: what to do, and what came of it. */
struct run {
	const struct policy *policy;
	int copy;   /* 0: as recorded; else which shaken copy */
	bool ended; /* what follows is valid */
	int rc;
	struct err err;
	struct metrics metrics;
	struct outcome *outcome; /* of the workload as recorded only; else NULL */
	int64_t n, procs, refused;
	int64_t stranded; /* jobs that waited for ever: the scheduler's fault */
	char refusal[600];
	double seconds;
	struct sched_stats stats;
	uint64_t pushes;
	int64_t done; /* jobs so far */
};

struct runs {
	struct run *run;	 /* shared memory */
	int n, policies, copies; /* n = policies * (copies + 1) */
	int64_t jobs;		 /* of the workload */
};

/* Every policy on the workload as recorded, and on `copies` shaken ones: run[copy * policies + policy]. */
void runs_init(struct runs *r, const struct policy *const *policy, int count, int copies, const struct workload *w);
void runs_fini(struct runs *r);
/* Copy k is shaken with seed + k. With one core everything happens in this process. 0, or the first failure. */
int runs_make(struct runs *r, const struct workload *w, const struct sim_options *o, uint64_t seed, int cores,
	      struct err *err);
/* How many cores this process may use. */
int runs_cores(void);

#endif
