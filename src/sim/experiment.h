/*
 * experiment.h - what the project claims, measured: the push experiments, moves of running jobs, and the published values on
 * traces (all in docs/simulator.md). They print tables for people, or JSON, and draw charts.
 */
#ifndef SIM_EXPERIMENT_H
#define SIM_EXPERIMENT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

struct push_options {
	int seeds;	    /* workloads of each kind: seeds 1 to this */
	int workers;	    /* processes; 0: one for each core */
	bool json;	    /* instead of tables */
	bool progress;	    /* a line of it on the terminal */
	const char *charts; /* directory, made if it is not there; NULL: none */
};

void push_options_init(struct push_options *o); /* 30 seeds */

/* Models A and C, the eight experiments, the ablation, the oracle, and what is claimed of them. *ret_claims is whether
 * every claim held; NULL: nobody asks. */
int experiment_push(const struct push_options *o, FILE *out, bool *ret_claims, struct err *err);

/* How much of the distance to perfect packing moving running jobs recovers (docs/simulator.md), by the sizes of the jobs and the cost of a move; what is
 * claimed of it as above. */
int experiment_move(const struct push_options *o, FILE *out, bool *ret_claims, struct err *err);

/* Node allocation by the smallest cover beside two others, over spreads of node speed and arrival rates; nothing is claimed of it. */
int experiment_cover(const struct push_options *o, FILE *out, bool *ret_claims, struct err *err);

/* Parallel jobs on workstations whose owners use them, under the source's two-level scheduler and under ours; nothing is claimed of it. */
int experiment_owners(const struct push_options *o, FILE *out, bool *ret_claims, struct err *err);

struct traces_options {
	const char *dir; /* where the traces are */
	int workers;
	bool json, progress;
	const char *charts;
};

/* The published values for the traces found in the directory; those missing are named and left out. */
int experiment_traces(const struct traces_options *o, FILE *out, struct err *err);

struct bag_options {
	const char *dir;	/* where the traces are */
	const char *results;	/* file that results are kept in, and continued from; NULL: none */
	const char *heuristics; /* names, with commas; NULL: all. static is always among them */
	const char *sites;	/* the same */
	int repetitions, more;	/* instants for all bags, and further ones for small bags */
	double precision; /* percent: a scenario whose mean times are known to this is simulated no further; 0: at all instants */
	int64_t most_tasks; /* larger bags are left out; 0: none is */
	int64_t limit;	    /* jobs of a trace that are read; 0: all */
	int workers;
	bool quick;	  /* a part of the types and requests */
	bool report_only; /* of what is in the file */
	bool types;	  /* a table of every type */
	bool json, progress;
	const char *charts;
};

/* Bags of tasks under the adapter's heuristics, on the traces found in the directory. */
int experiment_bag(const struct bag_options *o, FILE *out, struct err *err);

#endif
