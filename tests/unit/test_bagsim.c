/*
 * test_bagsim.c - a bag on a cluster with a trace: the cluster beside the ordinary simulator job by
 * job, bags that can be followed by hand, and fillers, which nobody notices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/vec.h"
#include "sim/bagsim.h"
#include "sim/sim.h"

#define PROCS 64

/* Estimates that are too long, as users give them: holes appear when jobs end. */
static struct workload *trace(uint64_t seed, int64_t jobs)
{
	struct workload *w = generate_lublin(PROCS, jobs, seed);

	for (size_t i = 0; i < w->jobs.n; i++)
		w->jobs.v[i].walltime = w->jobs.v[i].runtime * (1 + (int64_t)(i * 7 % 5)) + 60;
	return w;
}

struct starts {
	VEC(int64_t) at; /* by job of the trace */
};

static void on_start(void *context, int64_t job, int64_t at)
{
	struct starts *s = context;

	while ((int64_t)s->at.n <= job)
		vec_push(&s->at, -1);
	s->at.v[job] = at;
}

static struct bag_case bag_of(enum adapter_heuristic h, int requests, int64_t tasks, int64_t mean, int spread)
{
	return (struct bag_case){
		.heuristic = h,
		.limits = {.requests = requests, .procs = PROCS, .time = 18 * 3600},
		.type = {tasks, mean, spread},
		.seed = 5,
	};
}

static void same_as_the_simulator(void **state)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct workload *w = trace(seed, 1500);
		struct starts starts = {0};
		struct sim_options o;
		struct sim_result r;
		struct err err;

		sim_options_init(&o);
		o.machine = "flat:64";
		assert_int_equal(sim_run(w, policy_find("conservative"), &o, &r, &err), 0);

		struct bagsim *b = bagsim_create(w, PROCS);

		bagsim_on_start(b, on_start, &starts);
		bagsim_advance(b, w->jobs.v[w->jobs.n - 1].submit);
		assert_true(starts.at.n > 1000);
		for (size_t i = 0; i < starts.at.n && i < w->jobs.n; i++)
			if (starts.at.v[i] >= 0)
				assert_int_equal(starts.at.v[i], r.outcome[i].start);
		vec_free(&starts.at);
		bagsim_destroy(b);
		sim_result_fini(&r);
		workload_destroy(w);
	}
}

/* Nobody else is there: 64 processors, 128 tasks of 100 s. */
static void an_empty_machine(void **state)
{
	struct workload *w = workload_create("nothing");
	struct bagsim *b = bagsim_create(w, PROCS);
	struct bag_case c = bag_of(ADAPTER_STATIC, 1, 128, 100, 1);
	struct bag_outcome got = bagsim_bag(b, &c, 0);

	assert_int_equal(got.seconds, 200);
	assert_int_equal(got.requests, 1);
	assert_true(got.wasted == 0 && got.allocated == 12800);

	/* 33 processors each do not fit side by side: the first request does it all, and one of
	 * its processors is idle for the second half */
	c = bag_of(ADAPTER_STATIC, 2, 65, 100, 1);
	got = bagsim_bag(b, &c, 0);
	assert_int_equal(got.seconds, 200);
	assert_int_equal(got.requests, 2);
	assert_true(got.wasted == 100);
	bagsim_destroy(b);
	workload_destroy(w);
}

/* Tasks of 1,000 s in requests of at most 2,500 s: a third one is cut off after 500 s each time. */
static void tasks_that_are_cut_off(void **state)
{
	struct workload *w = workload_create("nothing");
	struct bagsim *b = bagsim_create(w, PROCS);
	struct bag_case c = bag_of(ADAPTER_STATIC, 1, 4, 1000, 1);
	struct bag_outcome got;

	c.limits.procs = 1;
	c.limits.time = 2500;
	got = bagsim_bag(b, &c, 0);
	assert_int_equal(got.seconds, 4500);
	assert_int_equal(got.cut, 1);
	assert_int_equal(got.requests, 2);
	assert_true(got.wasted == 500);
	bagsim_destroy(b);
	workload_destroy(w);
}

static void every_heuristic_completes(void **state)
{
	struct workload *w = trace(4, 800);

	for (int h = 0; h < ADAPTER_HEURISTICS; h++)
		for (int requests = 1; requests <= 4; requests += 3) {
			struct bag_case c = bag_of((enum adapter_heuristic)h, requests, 300, 700, 4);
			struct bagsim *b = bagsim_create(w, PROCS), *again = bagsim_create(w, PROCS);

			bagsim_advance(b, w->jobs.v[400].submit);
			bagsim_advance(again, w->jobs.v[400].submit);

			struct bag_outcome x = bagsim_bag(b, &c, 0), y = bagsim_bag(again, &c, 0);

			assert_true(x.seconds > 0);
			assert_true(x.wasted >= 0 && x.wasted < x.allocated);
			assert_int_equal(x.seconds, y.seconds);
			assert_true(x.wasted == y.wasted);
			bagsim_destroy(b);
			bagsim_destroy(again);
		}
	workload_destroy(w);
}

/* When the jobs of a trace start while a bag is there; NULL: none is. */
static struct starts starts_with(const struct workload *w, const struct bag_case *c, struct bag_outcome *ret)
{
	struct bagsim *b = bagsim_create(w, PROCS);
	struct starts s = {0};

	bagsim_on_start(b, on_start, &s);
	bagsim_advance(b, w->jobs.v[300].submit);
	if (c)
		*ret = bagsim_bag(b, c, 0);
	bagsim_advance(b, w->jobs.v[w->jobs.n - 1].submit + 1000000);
	bagsim_destroy(b);
	return s;
}

static int64_t differences(const struct starts *a, const struct starts *b, size_t n)
{
	int64_t d = 0;

	for (size_t i = 0; i < n; i++)
		d += a->at.v[i] != b->at.v[i];
	return d;
}

static void a_filler_is_not_noticed(void **state)
{
	struct workload *w = trace(6, 1000);
	struct bag_case c = bag_of(ADAPTER_OURS, 3, 2000, 900, 2);
	struct bag_outcome filler, usual;
	struct starts alone = starts_with(w, NULL, NULL), with, beside;

	beside = starts_with(w, &c, &usual);
	c.filler = true;
	with = starts_with(w, &c, &filler);
	assert_true(filler.seconds > 0 && filler.cut > 0);
	assert_int_equal(differences(&alone, &with, w->jobs.n), 0);
	assert_true(differences(&alone, &beside, w->jobs.n) > 0);
	vec_free(&alone.at);
	vec_free(&with.at);
	vec_free(&beside.at);
	workload_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_the_simulator),   cmocka_unit_test(an_empty_machine),
		cmocka_unit_test(tasks_that_are_cut_off),  cmocka_unit_test(every_heuristic_completes),
		cmocka_unit_test(a_filler_is_not_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
