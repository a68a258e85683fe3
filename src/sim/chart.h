/*
 * chart.h - charts of a run, drawn by gnuplot as SVG or PNG (by the file name's extension): queue
 * and use over time, a Gantt chart of a window, the distribution of waits; and bars for
 * experiments. Several policies share one chart.
 */
#ifndef SIM_CHART_H
#define SIM_CHART_H

#include "base/err.h"
#include "sim/metrics.h"

/* One run: `procs` is the size of the machine; outcomes are borrowed. */
struct chart_run {
	const char *name;
	const struct simulated *o;
	int64_t n, procs;
};

/* Draws the runs. -ENOENT: gnuplot is not installed; -EINVAL: the extension is neither .svg nor
 * .png. */
int chart_run_draw(const char *path, const char *title, const struct chart_run *runs, int nruns, struct err *err);
/* Writes the script with which gnuplot draws them. */
void chart_run_script(FILE *out, const char *path, const char *title, const struct chart_run *runs, int nruns);

/* Grouped bars with error bars: value[group * nseries + series]. */
struct chart_bars {
	const char *title, *ylabel;
	const char *const *group;
	const char *const *series;
	int ngroups, nseries;
	const double *value, *deviation; /* deviation may be NULL */
	/* values are ratios > 0, drawn from 1 on a logarithmic scale; without deviation */
	bool ratios;
	/* number of consecutive series that share shades of one colour; 0: each has its own */
	int shades;
};
int chart_bars_draw(const char *path, const struct chart_bars *b, struct err *err);
void chart_bars_script(FILE *out, const char *path, const struct chart_bars *b);

#endif
