/*
 * experiment.h - experiments that measure the project's claims: push, moving running jobs, node
 * allocation, owners of workstations, published values on traces, bags of tasks (all described in
 * docs/simulator.md). Each prints tables or JSON and can draw charts.
 */
#ifndef SIM_EXPERIMENT_H
#define SIM_EXPERIMENT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "sim/stations.h"

struct push_options {
	int seeds;	    /* number of workloads of each kind; their seeds are 1 to this */
	int jobs;	    /* size of each workload; 0: as docs/simulator.md says */
	int workers;	    /* worker processes; 0: one per core */
	bool json;	    /* print JSON instead of tables */
	bool progress;	    /* show a progress line on the terminal */
	const char *charts; /* directory for charts, created if missing; NULL: no charts */
	double k1, k2;	    /* weights of the two-level cost (station/place.h), for experiment_owners */
};

void push_options_init(struct push_options *o); /* sets the defaults: 30 seeds */

/* Runs the eight experiments on models A and C with the ablation and the oracle, and checks the
 * claims. Sets *ret_claims (may be NULL) to true if every claim held. */
int experiment_push(const struct push_options *o, FILE *out, bool *ret_claims, struct err *err);

/* Measures how much of the distance to perfect packing is recovered by moving running jobs, by
 * job size and cost of a move. *ret_claims as above. */
int experiment_move(const struct push_options *o, FILE *out, bool *ret_claims, struct err *err);

/* Compares node allocation by the smallest cover with two other methods, over spreads of node
 * speed and arrival rates. Makes no claims. */
int experiment_cover(const struct push_options *o, FILE *out, bool *ret_claims, struct err *err);

/* Runs parallel jobs on workstations whose owners use them, under the source's two-level
 * scheduler and under ours. Makes no claims. */
int experiment_owners(const struct push_options *o, FILE *out, bool *ret_claims, struct err *err);

struct pool_options {
	int seeds;	 /* rounds; their seeds are 1 to this */
	int jobs;	 /* jobs of each user in a round */
	double interval; /* between load reports, seconds */
	struct stations_bench bench;
	double k1, k2; /* weights of the two-level cost */
	bool json;
};

/* Simulates what bench/pool measures, under every policy of the pool's daemon. */
void experiment_pool(const struct pool_options *o, FILE *out);
/* Prints the sizes of its tasks as JSON: a list of rounds, these lists of users, of jobs, of tasks,
 * of which those of the chain come first. */
void experiment_pool_sizes(const struct pool_options *o, FILE *out);

struct traces_options {
	const char *dir; /* directory of the traces */
	int workers;
	bool json, progress;
	const char *charts;
};

/* Compares our values with the published ones for the traces found in the directory; names the
 * missing traces and skips them. */
int experiment_traces(const struct traces_options *o, FILE *out, struct err *err);

struct bag_options {
	const char *dir; /* directory of the traces */
	/* file that keeps the results, so that a later run continues from them; NULL: none */
	const char *results;
	const char *heuristics; /* comma-separated names; NULL: all. `base` is always included */
	const char *base;	/* heuristic that the others are compared with; NULL: static */
	const char *sites;	/* comma-separated names; NULL: all */
	/* instants simulated for all bags, and additional ones for small bags */
	int repetitions, more;
	/* stop simulating a scenario once its mean times are known to this precision, percent;
	 * 0: never stop early */
	double precision;
	int64_t most_tasks; /* skip bags with more tasks; 0: no limit */
	int64_t limit;	    /* jobs read from a trace, at most; 0: all */
	int workers;
	bool quick;	  /* run only some types of bags and numbers of requests */
	bool report_only; /* report the results in the file; simulate nothing */
	bool types;	  /* also print a table of every type */
	bool json, progress;
	const char *charts;
};

/* Runs bags of tasks under the adapter's heuristics on the traces found in the directory. */
int experiment_bag(const struct bag_options *o, FILE *out, struct err *err);

#endif
