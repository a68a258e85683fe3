/*
 * experiment_bag.h - what the runs of the bag experiment (experiment_bag.c) give their report (experiment_bag_report.c).
 */
#ifndef SIM_EXPERIMENT_BAG_H
#define SIM_EXPERIMENT_BAG_H

#include "bag/adapter.h"
#include "base/vec.h"
#include "sim/bagsim.h"
#include "sim/experiment.h"

enum {
	BAG_SITES = 6,
	BAG_SIZES = 4,
	BAG_MEANS = 3,
	BAG_SPREADS = 3,
	BAG_TYPES = BAG_SIZES * BAG_MEANS * BAG_SPREADS,
	BAG_PENDING = 6
};

/* A trace on a machine. */
struct bag_site {
	const char *name, *file; /* `file`: how the trace's name begins */
	int64_t procs, max_time; /* of the machine; seconds of a request, at most */
	double gaps;		 /* submission times are multiplied by this */
	double source[2];	 /* static's time over that of adaptive, and of mixed, in the source; 0: it has none */
};
extern const struct bag_site bag_sites[BAG_SITES];

struct bag_type bag_type_of(int type); /* 0 <= type < BAG_TYPES */
/* Bags that are done soon: their times vary much, and they are cheap. */
bool bag_type_small(int type);

/* One bag under all heuristics. */
struct bag_cell {
	bool run;
	float seconds[ADAPTER_HEURISTICS], wasted[ADAPTER_HEURISTICS]; /* seconds 0: that heuristic was not run */
};

struct bag_results {
	int repetitions;		  /* there is room for that many */
	struct bag_cell *cell[BAG_SITES]; /* [repetition][type][pending]; NULL: the site was not run */
	bool heuristic[ADAPTER_HEURISTICS];
	int64_t missing; /* bags that are not there yet */
	double load[BAG_SITES];
};

static inline struct bag_cell *bag_cell_at(const struct bag_results *r, int site, int repetition, int type, int pending)
{
	return &r->cell[site][((size_t)repetition * BAG_TYPES + (size_t)type) * BAG_PENDING + (size_t)pending];
}

/* Whether the mean times of all heuristics in a scenario are known to such a share of them, from enough bags to say so. */
bool bag_is_known(const struct bag_results *r, int site, int type, int pending, double share);
void bag_report(const struct bag_results *r, bool types, FILE *out);
void bag_report_json(const struct bag_results *r, FILE *out);
int bag_charts(const struct bag_results *r, const char *dir, struct err *err);

#endif
