/*
 * chart_data.c - reduces long runs to a few hundred points and boxes.
 */
#include "sim/chart_data.h"

#include <stdbool.h>

#define WINDOW_JOBS 80 /* jobs of an average window, about */
/* jobs of the busiest window, at most, if halving it a few times helps */
#define WINDOW_JOBS_MOST 160

struct span chart_span(const struct chart_run *runs, int nruns)
{
	struct span s = {INT64_MAX, INT64_MIN};

	for (int r = 0; r < nruns; r++)
		for (int64_t i = 0; i < runs[r].n; i++) {
			if (runs[r].o[i].submit < s.from)
				s.from = runs[r].o[i].submit;
			if (runs[r].o[i].start >= 0 && runs[r].o[i].end > s.to)
				s.to = runs[r].o[i].end;
		}
	return s.from < s.to ? s : (struct span){0, 1};
}

/* Slices of time to which intervals are added: the partial slices at an interval's ends one by
 * one, the whole slices between them as a step up and a step down. */
struct slices {
	struct span span;
	double part[CHART_SAMPLES + 1], step[CHART_SAMPLES + 2];
};

static void slices_add(struct slices *s, int64_t from, int64_t to, double weight)
{
	double scale = (double)CHART_SAMPLES / (double)(s->span.to - s->span.from);
	double a = (double)(from - s->span.from) * scale, b = (double)(to - s->span.from) * scale;
	int first = (int)a, last = (int)b;

	if (first == last) {
		s->part[first] += weight * (b - a);
		return;
	}
	s->part[first] += weight * (first + 1 - a);
	s->part[last] += weight * (b - last);
	s->step[first + 1] += weight;
	s->step[last] -= weight;
}

static void slices_sum(const struct slices *s, double *ret)
{
	double level = 0;

	for (int i = 0; i < CHART_SAMPLES; i++) {
		level += s->step[i];
		ret[i] = level + s->part[i];
	}
}

void chart_series_compute(struct chart_series *s, const struct chart_run *run, struct span span)
{
	struct slices use = {.span = span}, queue = {.span = span};

	for (int64_t i = 0; i < run->n; i++) {
		const struct simulated *o = &run->o[i];
		if (o->start < 0)
			continue;
		if (!o->share)
			slices_add(&use, o->start, o->end, (double)o->procs / (double)run->procs);
		slices_add(&queue, o->submit, o->start, 1);
	}
	slices_sum(&use, s->use);
	slices_sum(&queue, s->queue);
}

/* Returns the first slice of the stretch of `slices` slices in which queue length times use is
 * largest. */
static int busiest_slice(const struct chart_series *s, int slices)
{
	double sum = 0, most = -1;
	int first = 0;

	for (int i = 0; i < CHART_SAMPLES; i++) {
		sum += s->queue[i] * s->use[i];
		if (i >= slices)
			sum -= s->queue[i - slices] * s->use[i - slices];
		if (i >= slices - 1 && sum > most) {
			most = sum;
			first = i - slices + 1;
		}
	}
	return first;
}

static int64_t jobs_within(const struct chart_run *run, struct span w)
{
	int64_t n = 0;

	for (int64_t i = 0; i < run->n; i++)
		n += run->o[i].start >= 0 && run->o[i].start < w.to && run->o[i].end > w.from;
	return n;
}

struct span chart_window(const struct chart_run *run, const struct chart_series *s, struct span span)
{
	double slice = (double)(span.to - span.from) / CHART_SAMPLES;
	int slices = run->n > WINDOW_JOBS ? (int)(CHART_SAMPLES * WINDOW_JOBS / run->n) : CHART_SAMPLES;

	if (slices == 0)
		slices = 1;
	int first = busiest_slice(s, slices);
	struct span w = {span.from + (int64_t)(slice * first), span.from + (int64_t)(slice * (first + slices)) + 1};
	if (w.to > span.to)
		w.to = span.to;
	for (int halved = 0; halved < 4 && jobs_within(run, w) > WINDOW_JOBS_MOST; halved++) {
		int64_t quarter = (w.to - w.from) / 4;
		w.from += quarter;
		w.to -= quarter;
	}
	return w;
}

static int start_compare(const void *a, const void *b)
{
	const struct simulated *const *x = a, *const *y = b;

	return (*x)->start < (*y)->start ? -1 : (*x)->start > (*y)->start;
}

/* Returns the first of the lowest `wanted` consecutive free processors, or -1. */
static int64_t row_find(const int64_t *until, int64_t procs, int64_t now, int64_t wanted)
{
	int64_t run = 0;

	for (int64_t p = 0; p < procs; p++) {
		run = until[p] <= now ? run + 1 : 0;
		if (run == wanted)
			return p - wanted + 1;
	}
	return -1;
}

static void job_place(chart_boxes *ret, const struct simulated *o, int64_t *until, int64_t procs)
{
	int64_t row = row_find(until, procs, o->start, o->procs), left = o->procs;

	for (int64_t p = row < 0 ? 0 : row; p < procs && left > 0; p++) {
		if (until[p] > o->start)
			continue;
		bool joined = left < o->procs && ret->v[ret->n - 1].last == p - 1;
		if (joined)
			ret->v[ret->n - 1].last = p;
		else
			vec_push(ret, (struct chart_box){o, p, p});
		until[p] = o->end;
		left--;
	}
}

void chart_gantt(chart_boxes *ret, const struct chart_run *run, struct span window)
{
	VEC(const struct simulated *) jobs = {0};
	int64_t *until = mem_zalloc((size_t)run->procs * sizeof *until);

	for (int64_t i = 0; i < run->n; i++)
		if (run->o[i].start >= 0 && !run->o[i].share && run->o[i].start < window.to &&
		    run->o[i].end > window.from)
			vec_push(&jobs, &run->o[i]);
	if (jobs.n)
		qsort(jobs.v, jobs.n, sizeof *jobs.v, start_compare);
	for (size_t i = 0; i < jobs.n; i++)
		job_place(ret, jobs.v[i], until, run->procs);
	vec_free(&jobs);
	free(until);
}

static int double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int64_t chart_waits(const struct chart_run *run, double **ret)
{
	double *wait = mem_realloc(NULL, (size_t)run->n + 1, sizeof *wait);
	int64_t n = 0;

	for (int64_t i = 0; i < run->n; i++)
		if (run->o[i].start >= 0)
			wait[n++] = (double)(run->o[i].start - run->o[i].submit);
	qsort(wait, (size_t)n, sizeof *wait, double_compare);
	*ret = wait;
	return n;
}
