/*
 * simulate_over_time.c - data for a picture of several runs, as JSON: means over equal slices of
 * time, the distribution of waits, and waits by user.
 */
#include <stdlib.h>

#include "base/vec.h"
#include "cmd/sim/simulate.h"
#include "sim/chart_data.h"

#define MERGED 4	/* samples of a chart merged into one */
#define PERCENTILES 100 /* plus percentile 0 */
#define USERS 20	/* users shown: those with the most jobs */

struct user_waits {
	const char *name;
	int64_t jobs;
	double wait; /* total, s */
};

/* Returns the span of all runs together, so that their samples are at the same times. */
static struct span span_of(const struct simulation *s)
{
	struct chart_run *all = mem_zalloc((size_t)s->npolicies * sizeof *all);
	struct span span;

	for (int i = 0; i < s->npolicies; i++) {
		const struct run *run = &s->runs.run[i];
		all[i] = (struct chart_run){run->policy->name, run->outcome, run->n, run->procs};
	}
	span = chart_span(all, s->npolicies);
	free(all);
	return span;
}

void simulation_times_json(const struct simulation *s, struct json *j)
{
	struct span span = span_of(s);

	json_open_object(j, "over_time");
	json_int(j, "begin", s->workload->begin + span.from);
	json_int(j, "end", s->workload->begin + span.to);
	json_int(j, "samples", CHART_SAMPLES / MERGED);
	json_close_object(j);
}

/* Rounds to three digits, more than a picture shows. */
static double rounded(double x)
{
	return (double)(int64_t)(x * 1000 + 0.5) / 1000;
}

static void samples_json(struct json *j, const char *name, const double *v)
{
	json_open_array(j, name);
	for (int i = 0; i < CHART_SAMPLES; i += MERGED) {
		double sum = 0;
		for (int k = 0; k < MERGED; k++)
			sum += v[i + k];
		json_double(j, NULL, rounded(sum / MERGED));
	}
	json_close_array(j);
}

static void waits_json(struct json *j, const struct chart_run *run)
{
	double *waits = NULL;
	int64_t n = chart_waits(run, &waits);

	json_open_array(j, "wait_percentiles");
	for (int64_t i = 0; i <= PERCENTILES && n; i++)
		json_int(j, NULL, (int64_t)waits[(n - 1) * i / PERCENTILES]);
	json_close_array(j);
	free(waits);
}

static int by_jobs(const void *a, const void *b)
{
	const struct user_waits *x = a, *y = b;

	if (x->jobs != y->jobs)
		return x->jobs < y->jobs ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void users_json(struct json *j, const struct workload *w, const struct run *run)
{
	VEC(struct user_waits) users = {0};

	for (uint32_t i = 0; i < w->users.n; i++)
		vec_push(&users, (struct user_waits){.name = names_get(&w->users, i)});
	for (int64_t i = 0; i < run->n; i++) {
		const struct simulated *o = &run->outcome[i];
		if (o->start < 0)
			continue;
		users.v[o->user].jobs++;
		users.v[o->user].wait += (double)(o->start - o->submit);
	}
	if (users.n)
		qsort(users.v, users.n, sizeof *users.v, by_jobs);
	json_open_array(j, "users");
	for (size_t i = 0; i < users.n && i < USERS && users.v[i].jobs; i++) {
		json_open_object(j, NULL);
		json_text(j, "user", users.v[i].name);
		json_int(j, "jobs", users.v[i].jobs);
		json_double(j, "wait", rounded(users.v[i].wait / (double)users.v[i].jobs));
		json_close_object(j);
	}
	json_close_array(j);
	vec_free(&users);
}

void simulation_run_json(const struct simulation *s, const struct run *run, struct json *j)
{
	struct chart_run c = {run->policy->name, run->outcome, run->n, run->procs};
	struct chart_series *series = mem_alloc(sizeof *series);

	chart_series_compute(series, &c, span_of(s));
	samples_json(j, "use", series->use);
	samples_json(j, "queue", series->queue);
	free(series);
	waits_json(j, &c);
	users_json(j, s->workload, run);
}
