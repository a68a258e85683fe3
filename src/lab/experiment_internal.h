/*
 * experiment_internal.h - the interface between the runs of the push experiments
 * (experiment_push.c) and their report (experiment_report.c), and what the experiments share.
 */
#ifndef SIM_EXPERIMENT_INTERNAL_H
#define SIM_EXPERIMENT_INTERNAL_H

#include "base/json.h"
#include "lab/experiment.h"
#include "sim/chart.h"

enum { MODELS = 2, EXPERIMENTS = 8 };

/* Measures of one run. */
enum measure {
	M_TURNAROUND, /* mean over the jobs that ran, s */
	M_RESPONSE,   /* mean wait, s */
	M_WAIT_P99,
	M_WAIT_MAX,
	M_DEADLINES,
	M_MET,
	M_EXPIRED,
	M_GUARANTEED,
	M_BROKEN,	   /* guarantees broken, for any reason */
	M_BROKEN_BY_POWER, /* guarantees broken by an emergency job that had the power */
	M_EMERGENCY,
	M_EMERGENCY_MET,
	M_EMERGENCY_FEASIBLE, /* upper bound by the oracle */
	M_PREEMPTED,
	M_RESCUED, /* jobs that started because fragments were pushed */
	M_MIGRATIONS,
	M_BLOCKED,   /* attempts that failed although enough CPUs were free in total */
	M_ASKED,     /* blocked attempts that the oracle examined */
	M_HELPED,    /* examined attempts that moving planned fragments could have helped */
	M_UNDECIDED, /* examined attempts that the oracle could not decide */
	M_SECONDS,
	MEASURES
};
extern const char *const measure_names[MEASURES];

/* A policy, or a policy with one part changed. */
enum variant {
	V_TORQUE,
	V_OSCAR,
	/* shunt with the experiment's starve_after, which turns its due dates off: lightest
	 * first */
	V_LIGHT,
	V_DEFAULT, /* shunt with its defaults */
	/* variants before this run in all experiments, the others only in those of the ablation */
	V_MAIN,
	V_TORQUE_WEIGHT = V_MAIN,
	V_TORQUE_SHARED,
	V_DEPTH0,
	V_DEPTH2,
	V_DEPTH3,
	V_SMALLEST,
	V_FIRST,
	V_APART,
	V_DRAIN,
	V_OLDEST,
	V_NO_STARVING,
	V_LIGHT_NO_PUSH,
	V_LIGHT_NO_HEAD,
	V_FLAT,
	V_MIGRATE,
	V_LIGHT_MIGRATE,
	VARIANTS
};
extern const char *const variant_names[VARIANTS];

struct cell {
	double v[MEASURES];
};

extern const char model_letters[MODELS];

/* An experiment of the source and its published results: gains of push over TORQUE, and
 * deadlines met by push and by TORQUE. */
struct push_experiment {
	const char *name;
	double mean_gap;
	bool fixed_gap, starving;
	int qos, emergency;
	bool ablation; /* the changed policies also run it */
	double turnaround, response;
	int met, met_torque;
};
extern const struct push_experiment push_experiments[EXPERIMENTS];

/* All runs. where[...] is the index of the first of `seeds` cells; -1: not run. */
struct push_results {
	int seeds, jobs;
	const struct cell *cells;
	int where[MODELS][EXPERIMENTS][VARIANTS];
	double seconds; /* total real time */
};

static inline const struct cell *push_cells(const struct push_results *r, int model, int experiment, enum variant v)
{
	return r->where[model][experiment][v] < 0 ? NULL : r->cells + r->where[model][experiment][v];
}

/* Print the report; return true if all claims held. */
bool push_report(const struct push_results *r, FILE *out);
bool push_report_json(const struct push_results *r, FILE *out);
int push_charts(const struct push_results *r, const char *dir, struct err *err);

/* Approximates Student's t for a 95% interval with f degrees of freedom. */
static inline double student(double f)
{
	return 1.96 + 2.37 / f + 2.82 / (f * f) + 2.56 / (f * f * f);
}

struct pool_tasks;
/* Runs the tasks of an experiment, each with every seed and with the workers of the options.
 * Creates the directory for charts first. Returns the cells in *ret; free them with pool_free(). */
int cells_run(const struct push_options *o, struct pool_tasks *tasks, void **ret, struct err *err);
/* Creates the directory for charts if it is missing. */
int charts_dir(const char *dir, struct err *err);
/* Draws dir/name.svg. */
int charts_draw(const char *dir, const char *name, const struct chart_bars *b, struct err *err);

#endif
