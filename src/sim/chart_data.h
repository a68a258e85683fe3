/*
 * chart_data.h - a run boiled down to what a picture of it can show.
 */
#ifndef SIM_CHART_DATA_H
#define SIM_CHART_DATA_H

#include "base/vec.h"
#include "sim/chart.h"

#define CHART_SAMPLES 400

/* Means over equal slices of time. */
struct chart_series {
	double use[CHART_SAMPLES];   /* share of the machine */
	double queue[CHART_SAMPLES]; /* jobs waiting */
};

struct span {
	int64_t from, to; /* seconds; from < to */
};

/* From the first submission to the last end of all runs. */
struct span chart_span(const struct chart_run *runs, int nruns);
void chart_series_compute(struct chart_series *s, const struct chart_run *run, struct span span);

/* The part of the span, of some hundred jobs at most, in which most jobs wait. */
struct span chart_window(const struct chart_run *run, const struct chart_series *s, struct span span);

/* Processors first..last held by a job while it ran. */
struct chart_box {
	const struct simulated *job;
	int64_t first, last;
};
typedef VEC(struct chart_box) chart_boxes;

/* The jobs that ran in the window, on processors chosen anew: the lowest that are free, side by side if possible. */
void chart_gantt(chart_boxes *ret, const struct chart_run *run, struct span window);

/* The waits of all jobs in order, for jobs that ran. Returns how many; *ret is the caller's to free. */
int64_t chart_waits(const struct chart_run *run, double **ret);

#endif
