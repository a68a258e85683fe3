/*
 * sim.h - runs a workload through the scheduler in virtual time.
 *
 * The simulator is the world: it submits, lets jobs run for their run times, and ends them. Everything it is told to do
 * comes from the scheduler, the same that the server uses. At one instant submissions come before ends, and a cycle
 * follows each (docs/simulator.md).
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "base/err.h"
#include "core/cluster.h"
#include "sched/sched.h"
#include "sim/metrics.h"
#include "sim/workload.h"

struct ruleset; /* rules/queue.h */

struct sim_options {
	const char *machine;	    /* see machine.h */
	const struct ruleset *site; /* its queues and limits; NULL: none */
	struct settings settings;
	const char
		*topology; /* file with the tree of switches; NULL: none. It is also run without, for what that costs */
	bool apart;	   /* ... it is only measured: the nodes of a job are not kept close together */
	const char *allocation; /* node_allocation, instead of the policy's or the site's; NULL: none */
	int push_depth;		/* instead of the policy's; -1: as the policy says */
	int64_t overrun; /* seconds that jobs are there beyond their walltimes, at most, if they do not end before */
	bool check;	 /* every invariant after each cycle: slow */
	uint64_t pace;	 /* sched_pace() */
	void (*progress)(void *context, int64_t jobs_done);
	void *progress_context;
	sched_listener listener; /* sees every event */
	void *listener_context;
	sched_blocked blocked; /* is told of blocked attempts */
	void *blocked_context;
};

#define REFUSALS_MAX 8

/* Jobs that were refused, by reason. */
struct refusals {
	int64_t jobs;
	int n; /* reasons that are kept: the first ones */
	struct refused_for {
		int64_t jobs;
		int64_t first; /* id of the first of them */
		uint32_t line; /* ... and its line; 0: none */
		char why[512];
	} reason[REFUSALS_MAX];
};

/* What keeping the nodes of jobs close together brings and costs, with the topology and without. */
struct nearness {
	double switches, wait; /* switches of a job of several nodes, and seconds of a job, on average */
};

struct sim_result {
	struct simulated *outcome; /* in the order of the workload; owned */
	int64_t n, procs;
	int64_t refused;	 /* jobs: the sum of these */
	struct refusals unfit;	 /* the machine can't hold their requests, even if it were empty */
	struct refusals unruled; /* the site's rules do not take them */
	int64_t unsure;		 /* jobs for which no place was found on the empty machine, though there may be one */
	struct nearness near, apart; /* with sim_options.topology */
	double seconds;		     /* of real time that it took */
	struct sched_stats stats;
	uint64_t pushes, attempts; /* fragments moved, undone moves included; insertions tried */
};

void sim_options_init(struct sim_options *o);
/* Seconds, up to `most`, that the end of a job takes which uses up its walltime: other ones for each job of a workload. */
int64_t sim_overrun(int64_t id, int64_t most);
int sim_run(const struct workload *w, const struct policy *policy, const struct sim_options *o, struct sim_result *ret,
	    struct err *err);
void sim_result_fini(struct sim_result *r);

/* Of the real clock, since some instant: what a run takes. */
double real_seconds(void);

#endif
