/*
 * chart.h - pictures of a run, drawn by gnuplot into SVG or PNG (by the file's
 * ending): queue and use over time, a Gantt chart of a window, the distribution of
 * waits; and bars for experiments. Several policies share one picture.
 */
#ifndef SIM_CHART_H
#define SIM_CHART_H

#include "base/err.h"
#include "sim/metrics.h"

/* One run: `procs` is the machine; outcomes are borrowed. */
struct chart_run {
	const char *name;
	const struct simulated *o;
	int64_t n, procs;
};

/* -ENOENT with a sentence when gnuplot is not installed; -EINVAL for an ending that is neither .svg nor .png. */
int chart_run_draw(const char *path, const char *title, const struct chart_run *runs, int nruns, struct err *err);

/* Grouped bars with error bars: value[group * nseries + series]. */
struct chart_bars {
	const char *title, *ylabel;
	const char *const *group;
	const char *const *series;
	int ngroups, nseries;
	const double *value, *deviation; /* deviation may be NULL */
	bool ratios; /* above 0, on a logarithmic scale, as far from 1 as they are; without deviation */
	int shades;  /* so many series in a row have shades of one colour; 0: each has its own */
};
int chart_bars_draw(const char *path, const struct chart_bars *b, struct err *err);

#endif
