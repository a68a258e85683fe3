/*
 * test_shadow.c - the shadow that follows a schedule is EASY's own schedule, whatever the real one
 * does.
 *
 * Random workloads run under random policies; the shadow receives each event and is asked to
 * advance. In the end its sums must be those of a run under `easy`. Jobs that leave must not leave
 * anything behind.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "sched/shadow.h"
#include "sim/sim.h"

#define CPUS 64

struct follow {
	struct shadow *shadow;
	const struct workload *w;
	struct rng *rng; /* decides which jobs leave; NULL: none */
	int64_t left;
};

static struct workload *workload_random(struct rng *rng)
{
	struct workload *w = workload_create("random");
	int64_t at = 0, jobs = 20 + (int64_t)rng_below(rng, 400);

	for (int64_t i = 0; i < jobs; i++) {
		int64_t wall = 1 + (int64_t)rng_below(rng, rng_below(rng, 2) ? 50 : 3000);
		int64_t most = rng_below(rng, 4) ? CPUS / 4 : CPUS;
		at += (int64_t)rng_below(rng, rng_below(rng, 3) ? 3 : 400);
		int64_t runtime = 1 + (int64_t)rng_below(rng, (uint64_t)wall);
		vec_push(&w->jobs, (struct wjob){.id = i + 1,
						 .submit = at,
						 .walltime = wall,
						 .runtime = runtime,
						 .deadline = TIME_NEVER,
						 .procs = 1 + (int32_t)rng_below(rng, (uint64_t)most),
						 .text = -1,
						 .user = names_add(&w->users, "u")});
	}
	return w;
}

static void on_event(void *context, const struct event *e)
{
	struct follow *f = context;
	const struct wjob *j = &f->w->jobs.v[e->job];

	if (e->type == EVENT_SUBMIT)
		shadow_wait(f->shadow, e->job, e->time, j->procs, j->walltime);
	else if (e->type == EVENT_START)
		shadow_start(f->shadow, e->job, e->time);
	else if (e->type == EVENT_FINISH)
		shadow_finish(f->shadow, e->job, e->time);
	if (f->rng && rng_below(f->rng, 8) == 0) {
		int64_t before, after;
		shadow_easy(f->shadow, &before);
		shadow_leave(f->shadow, e->job);
		shadow_easy(f->shadow, &after);
		assert_int_equal(before, after);
		f->left++;
	}
	shadow_advance(f->shadow, e->time, CPUS);
}

static void run(const struct workload *w, const char *policy, struct follow *f, struct metrics *ret)
{
	struct sim_options o;
	struct sim_result r;
	struct err err;

	sim_options_init(&o);
	o.machine = "flat:64";
	if (f) {
		o.listener = on_event;
		o.listener_context = f;
	}
	assert_int_equal(sim_run(w, policy_find(policy), &o, &r, &err), 0);
	if (ret)
		metrics_compute(ret, r.outcome, r.n, r.procs);
	sim_result_fini(&r);
}

static const char *const real[] = {"shunt-narrow", "fcfs", "easy", "conservative", "smallest-area", "wfp3"};

static void test_is_easy(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct rng rng;
		rng_seed(&rng, seed);
		struct workload *w = workload_random(&rng);
		struct follow f = {.shadow = shadow_create(), .w = w};
		struct metrics easy;
		struct shadow_sums x;
		int64_t n;
		run(w, "easy", NULL, &easy);
		run(w, real[seed % (sizeof real / sizeof *real)], &f, NULL);
		while (shadow_advance(f.shadow, TIME_NEVER / 2, CPUS))
			;
		x = shadow_easy(f.shadow, &n);
		if (n != (int64_t)w->jobs.n || llround(x.turnaround) != llround(easy.turnaround.mean * (double)n))
			print_message("seed %d: %d of %d jobs, turnaround %.1f, easy has %.1f\n", (int)seed, (int)n,
				      (int)w->jobs.n, x.turnaround / (double)n, easy.turnaround.mean);
		assert_int_equal(n, w->jobs.n);
		assert_int_equal(llround(x.turnaround), llround(easy.turnaround.mean * (double)n));
		assert_true(fabs(x.slowdown / (double)n - easy.bslow.mean) < 1e-6 * easy.bslow.mean);
		assert_int_equal(llround(x.longest), llround(easy.wait.max));
		shadow_destroy(f.shadow);
		workload_destroy(w);
	}
}

/* A shadow whose jobs leave at random ends with a free machine: a job of all its CPUs starts. */
static void test_leave(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct rng rng;
		rng_seed(&rng, seed);
		struct workload *w = workload_random(&rng);
		struct follow f = {.shadow = shadow_create(), .w = w, .rng = &rng};
		int64_t before, after, late = TIME_NEVER / 4;
		run(w, real[seed % (sizeof real / sizeof *real)], &f, NULL);
		for (uint32_t job = 0; job < w->jobs.n; job++)
			shadow_leave(f.shadow, job);
		shadow_easy(f.shadow, &before);
		shadow_wait(f.shadow, UINT32_MAX - 1, late, CPUS, 10);
		shadow_start(f.shadow, UINT32_MAX - 1, late);
		shadow_finish(f.shadow, UINT32_MAX - 1, late + 5);
		while (shadow_advance(f.shadow, late + 6, CPUS))
			;
		shadow_easy(f.shadow, &after);
		assert_int_equal(after, before + 1);
		assert_true(f.left > 0);
		shadow_destroy(f.shadow);
		workload_destroy(w);
	}
}

/* Jobs that wait behind a wide one leave, and those that come next get their records and overtake
 * it: each is in the queue once, and starts at once. */
static void test_records_are_used_again(void **state)
{
	enum { LONG, WIDE, GONE = WIDE + 1, SHORT = GONE + 3, LAST = SHORT + 8 };
	struct shadow *h = shadow_create();
	struct shadow_sums x;
	int64_t n;

	(void)state;
	shadow_wait(h, LONG, 0, CPUS - 12, 1000);
	shadow_start(h, LONG, 0);
	shadow_advance(h, 1, CPUS);
	for (uint32_t job = WIDE; job < SHORT; job++)
		shadow_wait(h, job, 1, CPUS, 1000);
	shadow_advance(h, 3, CPUS);
	for (uint32_t job = GONE; job < SHORT; job++)
		shadow_leave(h, job);
	for (uint32_t job = SHORT; job < LAST; job++) {
		shadow_wait(h, job, 4, 1, 10);
		shadow_start(h, job, 4);
	}
	shadow_advance(h, 6, CPUS);
	for (uint32_t job = SHORT; job < LAST; job++)
		shadow_finish(h, job, 10);
	shadow_leave(h, WIDE);
	shadow_finish(h, LONG, 500);
	shadow_wait(h, LAST, 2000, CPUS, 10);
	shadow_start(h, LAST, 2000);
	shadow_finish(h, LAST, 2005);
	while (shadow_advance(h, 3000, CPUS))
		;
	x = shadow_easy(h, &n);
	assert_int_equal(n, 1 + (LAST - SHORT) + 1);
	assert_int_equal(llround(x.longest), 0);
	shadow_destroy(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_easy),
		cmocka_unit_test(test_leave),
		cmocka_unit_test(test_records_are_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
