/*
 * chart_data.h - reduces a run to the data that a chart of it can show.
 */
#ifndef SIM_CHART_DATA_H
#define SIM_CHART_DATA_H

#include "base/vec.h"
#include "sim/chart.h"

#define CHART_SAMPLES 400

/* Means over equal slices of time. */
struct chart_series {
	double use[CHART_SAMPLES];   /* share of the machine */
	double queue[CHART_SAMPLES]; /* waiting jobs */
};

struct span {
	int64_t from, to; /* seconds; from < to */
};

/* Returns the time from the first submission to the last end of all runs. */
struct span chart_span(const struct chart_run *runs, int nruns);
void chart_series_compute(struct chart_series *s, const struct chart_run *run, struct span span);

/* Returns the part of the span, of at most some hundred jobs, in which most jobs wait. */
struct span chart_window(const struct chart_run *run, const struct chart_series *s, struct span span);

/* A job and its processors, first to last, for as long as it ran. */
struct chart_box {
	const struct simulated *job;
	int64_t first, last;
};
typedef VEC(struct chart_box) chart_boxes;

/* Places the jobs that ran in the window on processors: the lowest that are free, side by side
 * if possible. */
void chart_gantt(chart_boxes *ret, const struct chart_run *run, struct span window);

/* Returns the sorted waits of the jobs that ran, and how many there are. The caller frees *ret. */
int64_t chart_waits(const struct chart_run *run, double **ret);

#endif
