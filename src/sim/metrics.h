/*
 * metrics.h - what a schedule was worth (docs/simulator.md), and how good it could have been.
 */
#ifndef SIM_METRICS_H
#define SIM_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "core/kind.h"

/* One job's fate, in the order of the workload. */
struct simulated {
	int64_t id;
	int64_t submit, start, end; /* start -1: never ran; the last attempt's */
	int64_t runtime;	    /* that it ran in its last attempt, and before as far as that was saved */
	int64_t estimate;
	int64_t over;	  /* seconds of them beyond its walltime and the tolerance, in its last attempt */
	int64_t deadline; /* TIME_NEVER: none */
	int64_t lost;	  /* seconds run in attempts that were preempted, and not saved */
	int64_t saved;	  /* ... and saved in a checkpoint */
	int64_t procs;
	uint32_t user;
	uint8_t kind;	      /* as submitted */
	bool killed;	      /* its walltime was over before it had ended */
	bool kept;	      /* from running, by rules: a hold, a stopped queue, a dependency that failed */
	bool guaranteed;      /* it was told so */
	bool broken;	      /* ... and missed it */
	bool broken_by_power; /* ... because of an emergency job that had the power */
	uint8_t preemptions;
};

struct spread {
	double mean, median, p90, p99, max;
};

struct bounds {
	double turnaround_trivial; /* mean: sum of run times */
	double turnaround_srpt;	   /* mean: SRPT on the squashed machine (each job as p*q/P on one processor) */
	double turnaround;	   /* the larger of the two */
	double awf_busy;	   /* AWF: mean-busy-time bound */
	double makespan;
};

#define SIZE_CLASSES 4 /* 1 processor; up to 1/32 of the machine; up to 1/4; more */

struct metrics {
	int64_t jobs, procs;
	struct spread wait, turnaround, slowdown, bslow; /* bounded slowdown, 10 s */
	double ppbslow;					 /* per-processor bounded slowdown, mean */
	double utilisation, makespan, awf;
	double loss_of_capacity; /* idle processor-seconds while a queued job needs no more than were idle / all */
	double user_wait_jain;	 /* Jain's index over the users' mean waits */
	double user_wait_worst;	 /* worst user's mean wait */
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

/* Several runs side by side, the best of each row marked, the lower bounds beside. */
void metrics_print(const char *const *names, const struct metrics *m, int n, FILE *out);
void metrics_json(struct json *j, const struct metrics *m);
/* job_id, submit, procs, runtime, estimate, start, end */
void outcomes_csv(const struct simulated *o, int64_t n, FILE *out);

#endif
