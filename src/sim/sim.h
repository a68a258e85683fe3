/*
 * sim.h - runs a workload through the scheduler in virtual time.
 *
 * The simulator plays the outside world: it submits jobs, lets them run for their run times, and
 * ends them. All decisions are made by the scheduler, the same that the server uses. At one instant
 * submissions come before ends, and a cycle follows each (docs/simulator.md).
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "base/err.h"
#include "base/hostlist.h"
#include "core/cluster.h"
#include "sched/sched.h"
#include "sim/metrics.h"
#include "sim/workload.h"

struct ruleset; /* rules/queue.h */

struct sim_options {
	const char *machine;	    /* see machine.h */
	const struct ruleset *site; /* queues and limits; NULL: none */
	/* names of nodes that divide their CPUs among jobs with a budget; NULL: none */
	const name_list *shared;
	struct settings settings;
	/* file with the tree of switches; NULL: none. The run is repeated without it, to show
	 * what it costs */
	const char *topology;
	bool apart; /* only measure the topology: don't keep the nodes of a job close together */
	/* node_allocation that replaces the policy's or the site's; NULL: none */
	const char *allocation;
	int push_depth; /* replaces the push depth of the policy; -1: does not */
	/* maximum seconds by which jobs exceed their walltimes, if they do not end before */
	int64_t overrun;
	bool check;    /* check every invariant after each cycle; slow */
	uint64_t pace; /* sched_pace() */
	void (*progress)(void *context, int64_t jobs_done);
	void *progress_context;
	sched_listener listener; /* receives every event */
	void *listener_context;
	sched_blocked blocked; /* called for blocked attempts */
	void *blocked_context;
};

#define REFUSALS_MAX 8

/* Refused jobs, by reason. */
struct refusals {
	int64_t jobs;
	int n; /* number of reasons kept, in the order in which they came up */
	struct refused_for {
		int64_t jobs;
		int64_t first; /* id of the first job refused for it */
		uint32_t line; /* its line, as struct wjob has it */
		char why[512];
	} reason[REFUSALS_MAX];
};

/* Measures of how close together the nodes of jobs are, for runs with the topology and without. */
struct nearness {
	/* means: switches of a job of several nodes; wait of a job, seconds */
	double switches, wait;
};

struct sim_result {
	struct simulated *outcome; /* in the order of the workload; owned */
	int64_t n, procs;
	int64_t refused;	 /* number of refused jobs: the sum of those below */
	struct refusals unfit;	 /* the machine can't hold their requests, even when empty */
	struct refusals unruled; /* the site's rules do not accept them */
	/* jobs for which no place was found on the empty machine, though there may be one */
	int64_t unsure;
	struct nearness near, apart; /* with sim_options.topology */
	double seconds;		     /* real time that the run took */
	struct sched_stats stats;
	uint64_t pushes, attempts; /* fragments moved, including undone moves; insertions tried */
};

void sim_options_init(struct sim_options *o);
/* Returns the seconds, up to `most`, by which a job exceeds its walltime if it uses it up; they
 * vary with the job's id. */
int64_t sim_overrun(int64_t id, int64_t most);
int sim_run(const struct workload *w, const struct policy *policy, const struct sim_options *o, struct sim_result *ret,
	    struct err *err);
void sim_result_fini(struct sim_result *r);

/* Returns seconds of the real clock since some fixed instant, to measure a run. */
double real_seconds(void);

#endif
