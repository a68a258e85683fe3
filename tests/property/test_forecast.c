/*
 * test_forecast.c - the forecast is what then happens, if jobs run as long as they may and nobody
 * else comes; and it changes nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "property/drive.h"
#include "sched/forecast.h"

struct wait {
	int64_t start[CASE_JOBS]; /* foreseen start; -1: none */
	int64_t at;		  /* when it was asked; -1: not yet */
	size_t from;		  /* first event after it */
	int foreseen;
};

static int all_foreseen;
static struct scratch scratch; /* for about one half of the copies */

static bool one(void *context, const struct foreseen *f)
{
	struct wait *w = context;

	w->start[f->job] = f->start;
	w->foreseen++;
	return true;
}

/* The end of a job that is cut short. */
struct rest {
	bool told[CASE_JOBS];
	int64_t last; /* start */
	bool twice, early;
};

static bool one_of_rest(void *context, const struct foreseen *f)
{
	struct rest *r = context;

	r->twice |= r->told[f->job];
	r->told[f->job] = true;
	r->early |= f->start < r->last;
	r->last = f->start;
	return true;
}

/* After a few cycles the rest is estimated roughly: every job that can be foreseen has a start
 * then, once and in the order of time. */
static void ask_rest(struct drive *d, const struct wait *whole)
{
	struct forecast *f = forecast_create(d->s);
	struct rest r = {.last = d->now};

	if (!forecast_run(f, 2, one_of_rest, &r))
		forecast_rest(f, one_of_rest, &r);
	forecast_destroy(f);
	for (int i = 0; i < CASE_JOBS; i++)
		if (whole->start[i] >= 0 && !r.told[i] && job_waits(cluster_job(d->c, (uint32_t)i)))
			drive_wrong(d, "a job that can be foreseen has no rough start");
	if (r.twice || r.early)
		drive_wrong(d, "rough starts are told twice or out of order");
}

/* Asks once, when the last job has come. */
static void ask(struct drive *d)
{
	struct wait *w = d->context;
	struct plan *before;
	struct forecast *f;
	uint64_t hash = d->hash;

	for (int i = 0; i < d->t->njobs; i++)
		if (d->id_of[i] < 0)
			return;
	if (w->at >= 0)
		return;
	w->at = d->now;
	w->from = d->record.n;
	before = plan_clone(d->p);
	f = forecast_create_in(d->s, all_foreseen % 2 ? &scratch : NULL);
	while (!forecast_run(f, 3, one, w)) /* in slices */
		;
	forecast_destroy(f);
	ask_rest(d, w);
	if (!plan_equal(before, d->p) || d->hash != hash)
		drive_wrong(d, "the forecast changed something");
	plan_destroy(before);
	plan_check(d->p);
}

static const char *comes_true(const struct tcase *given, const struct policy *policy)
{
	static char text[200];
	struct tcase t = *given;
	struct wait w = {.at = -1};
	struct drive d = {.after_cycle = ask, .context = &w};
	const char *wrong;

	memset(w.start, -1, sizeof w.start);
	t.tolerance = 0;
	t.batch = t.slow_start = false;
	for (int i = 0; i < t.njobs; i++)
		t.job[i].runtime = t.job[i].walltime;
	wrong = drive_run(&d, &t, policy);
	for (size_t i = w.from; i < d.record.n && !wrong && w.at >= 0; i++) {
		const struct event *e = &d.record.v[i].e;
		if (e->type != EVENT_START || w.start[e->job] == -2)
			continue;
		if (w.start[e->job] != e->time) {
			snprintf(text, sizeof text, "asked at %lld, job %u was to start at %lld, and starts at %lld",
				 (long long)w.at, e->job, (long long)w.start[e->job], (long long)e->time);
			wrong = text;
		}
		w.start[e->job] = -2; /* what comes after a preemption is another start */
	}
	for (uint32_t i = 0; i < CASE_JOBS && !wrong; i++)
		if (w.start[i] >= 0)
			wrong = "a start was foreseen that does not come";
	all_foreseen += w.foreseen;
	if (wrong && wrong != text) {
		snprintf(text, sizeof text, "%s", wrong);
		wrong = text;
	}
	drive_fini(&d);
	return wrong;
}

#define FLAVOUR (WITH_NODES | WITH_MIXED | WITH_MORE)

static void test_comes_true(void **state)
{
	static const char *const name[] = {"shunt", "fcfs",   "easy", "easy-sjbf", "conservative",
					   "oscar", "torque", "wfp3", "artaras"};

	(void)state;
	for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
		case_check(comes_true, FLAVOUR, case_policy(name[i], -1), 90);
		case_check(comes_true, FLAVOUR | WITH_KINDS | WITH_STARVING, case_policy(name[i], -1), 90);
		case_check(comes_true, FLAVOUR | WITH_KINDS | WITH_WHOLE, case_policy(name[i], -1), 60);
		case_check(comes_true, 0, case_policy(name[i], -1), 40);
	}
	print_message("# %d starts foreseen\n", all_foreseen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_comes_true)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
