/*
 * test_slots.c - limits on running jobs within the scheduler: never exceeded, and no slot is kept
 * by a job that merely waits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/rng.h"
#include "rules/limit.h"
#include "sched/blockers.h"
#include "sched/explain.h"
#include "sched/forecast.h"
#include "support/world.h"

static struct world w;
static struct limits *limits;

static const char *const tried[] = {"fcfs",   "easy",  "easy-sjbf", "conservative", "easy++",
				    "torque", "shunt", "oscar",	    "wfp3"};
#define POLICIES (sizeof tried / sizeof *tried)

static void open_world(const char *policy, int nodes)
{
	world_init(&w, policy);
	world_add_nodes(&w, nodes, 8);
	world_open(&w);
	limits = limits_create();
	sched_limit(w.s, limits);
}

static void close_world(void)
{
	world_fini(&w);
	limits_destroy(limits);
}

/* Submits a job with the limits of its user. */
static uint32_t submit(int64_t now, enum job_kind kind, uint32_t user, const char *request, int64_t walltime,
		       int64_t deadline)
{
	uint32_t next = w.c->jobs.n, job;

	w.limits_of_next = limits_class(limits, &(struct limit_party){.user = user});
	job = world_submit(&w, now, kind, request, walltime, deadline, 0);
	w.limits_of_next = LIMITS_NONE;
	assert_int_equal(job, next);
	return job;
}

static uint32_t common(int64_t now, uint32_t user, const char *request, int64_t walltime)
{
	return submit(now, KIND_COMMON, user, request, walltime, TIME_NEVER);
}

static void is(uint32_t job, enum job_state state)
{
	assert_string_equal(job_state_name(world_job(&w, job)->state), job_state_name(state));
}

/* It came first, takes no slot while it waits, and another of its user that fits runs. */
static void a_wide_job_keeps_nobody_behind_its_limit(void **state)
{
	for (size_t i = 0; i < POLICIES; i++) {
		open_world(tried[i], 1);
		limits_set(limits, LIMIT_USER, 0, 1);

		bool backfills = w.policy.backfill != ORDER_NONE;
		uint32_t other = common(0, 2, "ncpus=4", 1000);
		world_cycle(&w, 0);

		uint32_t wide = common(1, 1, "ncpus=8", 100), narrow = common(2, 1, "ncpus=2", 100),
			 next = common(3, 1, "ncpus=2", 100);
		world_cycle(&w, 3);
		is(other, STATE_RUNNING);
		is(wide, STATE_CANDIDATE);
		is(narrow, backfills ? STATE_RUNNING : STATE_CANDIDATE);
		is(next, STATE_CANDIDATE);
		sched_finish(w.s, other, 50, NULL);
		world_cycle(&w, 50);
		is(wide, backfills ? STATE_CANDIDATE : STATE_RUNNING);
		is(next, STATE_CANDIDATE);
		sched_finish(w.s, backfills ? narrow : wide, 60, NULL);
		world_cycle(&w, 60);
		assert_true((world_job(&w, wide)->state == STATE_RUNNING) +
				    (world_job(&w, next)->state == STATE_RUNNING) +
				    (!backfills && world_job(&w, narrow)->state == STATE_RUNNING) ==
			    1);
		close_world();
	}
}

/* Nobody else waits for a job whose limit is reached: it is passed over, also where nobody may
 * be overtaken. */
static void a_limited_job_is_nobodys_head(void **state)
{
	for (size_t i = 0; i < POLICIES; i++) {
		open_world(tried[i], 1);
		limits_set(limits, LIMIT_USER, 0, 1);

		uint32_t first = common(0, 1, "ncpus=1", 1000), second = common(0, 1, "ncpus=7", 1000),
			 other = common(0, 2, "ncpus=7", 1000);
		struct reason r;
		world_cycle(&w, 0);
		is(first, STATE_RUNNING);
		is(second, STATE_CANDIDATE);
		is(other, STATE_RUNNING);
		sched_explain(w.s, second, &r);
		assert_string_equal(why_name(r.why), "limit");
		reason_fini(&r);
		close_world();
	}
}

/* One of the two limits of a user is reached only because of the job in the way. */
static void a_limit_is_implied_by_what_is_in_the_way(void **state)
{
	reason_vec reasons = {0};
	bool there[] = {true, true};
	int limited = 0;

	open_world("easy", 2);
	limits_set(limits, LIMIT_OF_USER, 1, 2);
	limits_cap(limits, LIMIT_OF_USER, 1, LIMIT_CPUS, 9);

	uint32_t in_the_way = common(0, 1, "nodes=n1:ppn=7", 100), beside = common(0, 1, "nodes=n2:ppn=2", 100),
		 job = common(0, 1, "nodes=n1:ppn=8", 100);
	world_cycle(&w, 0);
	is(in_the_way, STATE_RUNNING);
	is(beside, STATE_RUNNING);
	sched_blockers(w.s, &(struct blockers_ask){.job = job, .allowed = NODES_ALL, .there = there}, &reasons);
	for (size_t i = 0; i < reasons.n; i++) {
		const struct reason *r = &reasons.v[i];
		if (r->why != WHY_LIMIT)
			continue;
		limited++;
		assert_int_equal(r->limit.kind, LIMIT_OF_USER);
		assert_int_equal(r->limit.of, 1);
		assert_int_equal(r->limit.used, r->limit.measure == LIMIT_JOBS ? 2 : 9);
		assert_int_equal(r->needed, r->limit.measure == LIMIT_JOBS ? 2 : 8);
		assert_int_equal(r->implied, r->limit.measure == LIMIT_JOBS);
	}
	assert_int_equal(limited, 2);
	reasons_fini(&reasons);
	close_world();
}

/* What was promised has its slot until it has run. */
static void a_guarantee_has_a_slot(void **state)
{
	open_world("oscar", 1);
	limits_set(limits, LIMIT_USER, 0, 1);

	uint32_t other = common(0, 2, "ncpus=8", 100);
	world_cycle(&w, 0);

	uint32_t first = submit(1, KIND_QOS, 1, "ncpus=4", 50, 1000),
		 second = submit(1, KIND_QOS, 1, "ncpus=4", 50, 1000), third = common(1, 1, "ncpus=1", 10);
	world_cycle(&w, 1);
	assert_true(world_job(&w, first)->guaranteed);
	is(first, STATE_ALLOCATED);
	is(second, STATE_CANDIDATE);
	sched_finish(w.s, other, 90, NULL);
	world_cycle(&w, 90);
	is(first, STATE_RUNNING);
	is(third, STATE_CANDIDATE);
	sched_finish(w.s, first, 120, NULL);
	world_cycle(&w, 120);
	is(second, STATE_RUNNING);
	close_world();
}

static bool told(void *context, const struct foreseen *x)
{
	((int64_t *)context)[x->job] = x->start;
	return true;
}

/* One after the other, and so they are foreseen. */
static void forecasts_know_limits(void **state)
{
	int64_t start[16] = {0};

	open_world("shunt", 2);
	limits_set(limits, LIMIT_USER, 0, 1);
	for (int i = 0; i < 4; i++)
		common(0, 1, "ncpus=1", 100);
	world_cycle(&w, 0);

	struct forecast *f = forecast_create(w.s);
	while (!forecast_run(f, 1, told, start))
		;
	forecast_destroy(f);
	for (int i = 1; i < 4; i++)
		assert_int_equal(start[i], 100 * i);
	close_world();
}

static bool count(void *context, const struct foreseen *f)
{
	(void)f;
	++*(int *)context;
	return true;
}

/* More come to the queue of a copy than its scratch has room for; the scheduler itself knows
 * nothing of it. */
static void copies_in_a_scratch_grow(void **state)
{
	struct scratch scratch = {0};
	enum { JOBS = 200 };

	(void)state;
	for (size_t i = 0; i < POLICIES; i++) {
		open_world(tried[i], 1);
		for (uint32_t k = 0; k < JOBS; k++) {
			uint32_t job = common(0, 1, "ncpus=3", 100 + k);
			if (k % 10)
				sched_hold(w.s, job, 0);
		}
		world_cycle(&w, 0);

		struct forecast *f = forecast_create_in(w.s, &scratch);
		int n = 0;

		for (uint32_t k = 0; k < JOBS; k++)
			if (k % 10)
				sched_release(forecast_sched(f), k, 0);
		while (!forecast_run(f, 100, count, &n))
			;
		forecast_destroy(f);
		assert_int_equal(n, JOBS - 2); /* two have started */
		assert_int_equal(sched_waiting(w.s), JOBS / 10 - 2);
		close_world();
	}
	scratch_fini(&scratch);
}

static int running(uint32_t class)
{
	int n = 0;

	for (uint32_t i = 0; i < w.c->jobs.n; i++) {
		const struct job *job = cluster_job(w.c, i);
		n += job->limits == class &&
		     (job->state == STATE_ALLOCATED || job->state == STATE_NOW || job->state == STATE_RUNNING);
	}
	return n;
}

static void history(const char *policy, uint64_t seed)
{
	static const char *const requests[] = {"ncpus=1", "ncpus=2",	   "ncpus=5",
					       "ncpus=8", "nodes=2:ppn=3", "nodes=3:ppn=8"};
	struct rng rng;
	int64_t now = 1;

	rng_seed(&rng, seed);
	open_world(policy, 3);
	w.c->settings.starve_after = 300;
	limits_set(limits, LIMIT_USER, 0, 2);
	for (int step = 0; step < 150; step++) {
		now += (int64_t)(rng_next(&rng) % 20);
		uint32_t user = 1 + (uint32_t)(rng_next(&rng) % 3);
		bool special = rng_next(&rng) % 6 == 0;
		if (step < 100)
			submit(now, special ? KIND_QOS : KIND_COMMON, user, requests[rng_next(&rng) % 6],
			       1 + (int64_t)(rng_next(&rng) % 60), special ? now + 5000 : TIME_NEVER);
		for (uint32_t i = 0; i < w.c->jobs.n; i++)
			if (cluster_job(w.c, i)->state == STATE_RUNNING && rng_next(&rng) % 3 == 0)
				sched_finish(w.s, i, now, NULL);
		if (step == 60)
			limits_set(limits, LIMIT_USER, 0, 3);
		world_cycle(&w, now);
		for (uint32_t u = 1; u <= 3; u++) {
			uint32_t class = limits_class(limits, &(struct limit_party){.user = u});
			assert_true(running(class) <= (step < 60 ? 2 : 3));
			assert_int_equal(limits_room(limits, class, &(struct limit_need){{1, 1, 0}}),
					 (step < 60 ? 2 : 3) - running(class));
		}
	}
	for (int i = 0; i < 400; i++) { /* nobody is left behind */
		now += 60;
		for (uint32_t k = 0; k < w.c->jobs.n; k++)
			if (cluster_job(w.c, k)->state == STATE_RUNNING)
				sched_finish(w.s, k, now, NULL);
		world_cycle(&w, now);
	}
	for (uint32_t i = 0; i < w.c->jobs.n; i++)
		assert_true(job_ended(cluster_job(w.c, i)));
	close_world();
}

static void limits_hold_in_random_histories(void **state)
{
	for (size_t i = 0; i < POLICIES; i++)
		for (uint64_t seed = 1; seed <= 20; seed++)
			history(tried[i], seed);
}

static void many_behind_a_limit(const char *policy, int jobs)
{
	open_world(policy, 1);
	limits_set(limits, LIMIT_USER, 0, 1);
	for (int k = 0; k < jobs; k++)
		common(0, 1, "ncpus=1", 1000);
	common(1, 2, "ncpus=1", 1000);
}

/* Each goes into the line of its limit, and out of the sorted queue, which is work: with
 * thousands of them a cycle ends early, and the next ones reach the jobs behind them. */
static void many_go_into_line_in_several_cycles(void **state)
{
	static const char *const some[] = {"fcfs", "easy", "easy-sjbf"};
	int cycles, runs;

	for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
		many_behind_a_limit(some[i], 3000);
		sched_pace(w.s, 1000);
		for (cycles = 1; !sched_cycle(w.s, 1) && cycles < 3000; cycles++)
			;
		assert_true(cycles > 20 && cycles < 3000); /* 3 are needed to sort them */
		runs = 0;
		for (uint32_t id = 0; id < w.c->jobs.n; id++)
			runs += world_job(&w, id)->state == STATE_NOW;
		assert_int_equal(runs, 2);
		is(w.c->jobs.n - 1, STATE_NOW);
		close_world();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wide_job_keeps_nobody_behind_its_limit),
		cmocka_unit_test(many_go_into_line_in_several_cycles),
		cmocka_unit_test(a_limited_job_is_nobodys_head),
		cmocka_unit_test(a_limit_is_implied_by_what_is_in_the_way),
		cmocka_unit_test(a_guarantee_has_a_slot),
		cmocka_unit_test(forecasts_know_limits),
		cmocka_unit_test(copies_in_a_scratch_grow),
		cmocka_unit_test(limits_hold_in_random_histories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
