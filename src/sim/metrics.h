/*
 * metrics.h - measures of a schedule (docs/simulator.md), and bounds on how good it could have
 * been.
 */
#ifndef SIM_METRICS_H
#define SIM_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "core/kind.h"

/* The outcome of one job, in the order of the workload. */
struct simulated {
	int64_t id;
	int64_t submit, start, end; /* start, end: last attempt; start -1: never ran */
	/* seconds it ran in its last attempt, plus those saved from earlier ones */
	int64_t runtime;
	int64_t estimate;
	int64_t over;	  /* seconds of its last attempt beyond its walltime and the tolerance */
	int64_t deadline; /* TIME_NEVER: none */
	int64_t lost;	  /* seconds run in preempted attempts and not saved */
	int64_t saved;	  /* seconds run in preempted attempts and saved in a checkpoint */
	int64_t procs;
	int64_t share; /* thousandths of a shared node's CPU that it has; 0: CPUs of its own */
	uint32_t user;
	uint8_t kind;	      /* enum job_kind, when submitted */
	bool killed;	      /* its walltime ran out before it ended */
	bool kept;	      /* rules kept it from running: a hold, a stopped queue, a failed dependency */
	bool guaranteed;      /* its deadline was guaranteed */
	bool broken;	      /* it was guaranteed, and missed its deadline */
	bool broken_by_power; /* broken because of an emergency job that had the power */
	uint8_t preemptions;
};

struct spread {
	double mean, median, p90, p99, max;
};

struct bounds {
	double turnaround_trivial; /* mean; from the sum of run times */
	/* mean; SRPT on the squashed machine (each job as p*q/P on one processor) */
	double turnaround_srpt;
	double turnaround; /* the larger of the two */
	double awf_busy;   /* AWF: mean-busy-time bound */
	double makespan;
};

#define SIZE_CLASSES 4 /* 1 processor; up to 1/32 of the machine; up to 1/4; more */

struct metrics {
	int64_t jobs, procs;
	struct spread wait, turnaround, slowdown, bslow; /* bslow: bounded slowdown, 10 s */
	double ppbslow;					 /* per-processor bounded slowdown, mean */
	double utilisation, makespan, awf;
	/* share of processor-seconds that were idle while a queued job would have fit into them */
	double loss_of_capacity;
	double user_wait_jain;	/* Jain's index over the users' mean waits */
	double user_wait_worst; /* worst user's mean wait */
	int64_t deadlines, deadlines_met, guaranteed, guarantees_broken, broken_by_power, expired;
	int64_t emergency, emergency_met;
	int64_t preempted, work_lost; /* attempts; processor-seconds */
	struct {
		int64_t jobs;
		double wait, bslow;
	} size[SIZE_CLASSES];
	struct bounds bound;
};

void metrics_compute(struct metrics *m, const struct simulated *o, int64_t n, int64_t procs);

/* Prints several runs side by side, with the best of each row marked, and the lower bounds. */
void metrics_print(const char *const *names, const struct metrics *m, int n, FILE *out);
void metrics_json(struct json *j, const struct metrics *m);
/* Writes the columns job_id, submit, procs, runtime, estimate, start, end. */
void outcomes_csv(const struct simulated *o, int64_t n, FILE *out);

#endif
