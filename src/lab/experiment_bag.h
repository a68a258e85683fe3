/*
 * experiment_bag.h - the interface between the runs of the bag experiment (experiment_bag.c) and
 * its report (experiment_bag_report.c).
 */
#ifndef SIM_EXPERIMENT_BAG_H
#define SIM_EXPERIMENT_BAG_H

#include "bag/adapter.h"
#include "base/vec.h"
#include "lab/experiment.h"
#include "sim/bagsim.h"

enum {
	BAG_SITES = 8,
	BAG_SIZES = 4,
	BAG_MEANS = 3,
	BAG_SPREADS = 3,
	BAG_TYPES = BAG_SIZES * BAG_MEANS * BAG_SPREADS,
	BAG_PENDING = 6
};

/* A trace and the machine it runs on. */
struct bag_site {
	const char *name, *file; /* `file`: prefix of the trace's file name */
	int64_t procs, max_time; /* processors of the machine; longest request, seconds */
	double gaps;		 /* factor applied to submission times; 0: such that the load is `load` */
	double load;		 /* offered load, if gaps is 0 */
	/* published ratios: static's time over adaptive's, and over mixed's; 0: not published, or
	 * published for another load */
	double source[2];
};
extern const struct bag_site bag_sites[BAG_SITES];

struct bag_type bag_type_of(int type); /* 0 <= type < BAG_TYPES */
/* Returns true for bags that finish soon: their times vary much, and they are cheap to simulate. */
bool bag_type_small(int type);

/* One bag under all heuristics. */
struct bag_cell {
	bool run;
	/* seconds 0: the heuristic was not run */
	float seconds[ADAPTER_HEURISTICS], wasted[ADAPTER_HEURISTICS];
};

struct bag_results {
	int repetitions; /* number of repetitions that `cell` holds */
	/* [repetition][type][pending]; NULL: the site was not run */
	struct bag_cell *cell[BAG_SITES];
	bool heuristic[ADAPTER_HEURISTICS];
	enum adapter_heuristic base; /* the one that the others are compared with */
	int64_t missing;	     /* bags not simulated yet */
	double load[BAG_SITES];
};

static inline struct bag_cell *bag_cell_at(const struct bag_results *r, int site, int repetition, int type, int pending)
{
	return &r->cell[site][((size_t)repetition * BAG_TYPES + (size_t)type) * BAG_PENDING + (size_t)pending];
}

/* Returns true if the mean time of every heuristic in a scenario is known to within `share` of
 * its value, from enough bags. */
bool bag_is_known(const struct bag_results *r, int site, int type, int pending, double share);
void bag_report(const struct bag_results *r, bool types, FILE *out);
void bag_report_json(const struct bag_results *r, FILE *out);
int bag_charts(const struct bag_results *r, const char *dir, struct err *err);

#endif
