/*
 * experiment_internal.h - what the runs of the push experiments (experiment_push.c) give their report
 * (experiment_report.c).
 */
#ifndef SIM_EXPERIMENT_INTERNAL_H
#define SIM_EXPERIMENT_INTERNAL_H

#include "base/json.h"
#include "sim/chart.h"
#include "sim/experiment.h"

enum { MODELS = 2, EXPERIMENTS = 8 };

/* What is measured of one run. */
enum measure {
	M_TURNAROUND, /* mean seconds, of jobs that ran */
	M_RESPONSE,   /* mean wait */
	M_WAIT_P99,
	M_WAIT_MAX,
	M_DEADLINES,
	M_MET,
	M_EXPIRED,
	M_GUARANTEED,
	M_BROKEN,	   /* guarantees, by whatever */
	M_BROKEN_BY_POWER, /* of these: by an emergency job that had the power */
	M_EMERGENCY,
	M_EMERGENCY_MET,
	M_EMERGENCY_FEASIBLE, /* at most, by the oracle */
	M_PREEMPTED,
	M_RESCUED, /* jobs that started because fragments were pushed */
	M_MIGRATIONS,
	M_BLOCKED,   /* attempts that failed although the sum of free CPUs sufficed */
	M_ASKED,     /* of these: how many the oracle was asked about */
	M_HELPED,    /* ... and could have been helped by moving what is planned */
	M_UNDECIDED, /* ... or it could not tell */
	M_SECONDS,
	MEASURES
};
extern const char *const measure_names[MEASURES];

/* A policy, or one with a part of it changed. */
enum variant {
	V_TORQUE,
	V_OSCAR,
	V_LIGHT,   /* shunt with the experiment's starve_after, which turns its due dates off: lightest first */
	V_DEFAULT, /* shunt as it is */
	V_MAIN,	   /* those above run in all experiments, the rest in those of the ablation */
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

/* An experiment of the source, and what it found: gains of push over TORQUE, deadlines met by push and by TORQUE. */
struct push_experiment {
	const char *name;
	double mean_gap;
	bool fixed_gap, starving;
	int qos, emergency;
	bool ablation; /* the altered policies run it too */
	double turnaround, response;
	int met, met_torque;
};
extern const struct push_experiment push_experiments[EXPERIMENTS];

/* All runs; where[...] is the first of `seeds` cells, or -1: not run. */
struct push_results {
	int seeds;
	const struct cell *cells;
	int where[MODELS][EXPERIMENTS][VARIANTS];
	double seconds; /* of real time, all in all */
};

static inline const struct cell *push_cells(const struct push_results *r, int model, int experiment, enum variant v)
{
	return r->where[model][experiment][v] < 0 ? NULL : r->cells + r->where[model][experiment][v];
}

/* Prints; returns whether all claims held. */
bool push_report(const struct push_results *r, FILE *out);
bool push_report_json(const struct push_results *r, FILE *out);
int push_charts(const struct push_results *r, const char *dir, struct err *err);

struct pool_tasks;
/* Runs the tasks of an experiment, each for as many seeds as the options say, with their workers: its cells are in *ret, for pool_free(). The directory for charts
 * is made first. */
int cells_run(const struct push_options *o, struct pool_tasks *tasks, void **ret, struct err *err);
/* The directory for charts, made if it is not there. */
int charts_dir(const char *dir, struct err *err);
/* Draws dir/name.svg. */
int charts_draw(const char *dir, const char *name, const struct chart_bars *b, struct err *err);

#endif
