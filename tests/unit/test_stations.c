/*
 * test_stations.c - placement of tasks on workstations, and agreement of the simulated network with
 * the model.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/stations.h"

static const struct load quiet = {.speed = 1, .idle = 1, .free = 1};
static const struct place_rule fim = {.policy = PLACE_FIM}, waits = {.policy = PLACE_OURS},
			       two_level = {PLACE_TWO_LEVEL, PLACE_K1, PLACE_K2};

static void names(void **state)
{
	enum place_policy p;

	for (int i = 0; i < PLACE_POLICIES; i++) {
		assert_true(place_find(place_name((enum place_policy)i), &p));
		assert_int_equal(p, i);
	}
	assert_false(place_find("pvm", &p));
}

/* A burst of three: round robin continues, FI puts all on the fastest idle one, FIM counts its
 * own. */
static void bursts(void **state)
{
	static const struct {
		enum place_policy policy;
		int to[3];
	} cases[] = {
		{PLACE_ROUND_ROBIN, {0, 1, 2}}, {PLACE_FI, {1, 1, 1}}, {PLACE_FIM, {1, 1, 2}}, {PLACE_OURS, {1, 2, 0}}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct load table[3] = {quiet, quiet, quiet};
		int turn = 0;
		table[1].speed = 4;
		table[2].speed = 2;
		for (int k = 0; k < 3; k++)
			assert_int_equal(
				place_choose(&(struct place_rule){.policy = cases[i].policy}, table, NULL, 3, &turn),
				cases[i].to[k]);
	}
}

/* The owner's batch work weighs more than as many tasks of ours in the two-level cost, and the
 * same in FIM's. */
static void owners_weigh(void **state)
{
	struct load tasks = quiet, owner = quiet;

	tasks.ours = 2;
	owner.batch = 2;
	assert_true(place_cost(&fim, &tasks) == place_cost(&fim, &owner));
	assert_true(place_cost(&two_level, &tasks) < place_cost(&two_level, &owner));
	/* nb is 2, cubed 8: of weight 1/4 it is as two tasks, of weight 0 nothing */
	assert_true(place_cost(&(struct place_rule){PLACE_TWO_LEVEL, 1, 0.25}, &owner) == place_cost(&fim, &tasks));
	assert_true(place_cost(&(struct place_rule){PLACE_TWO_LEVEL, 1, 0}, &owner) == place_cost(&fim, &quiet));
	owner.idle = owner.free = 0; /* nothing divides by it */
	for (int p = 0; p < PLACE_POLICIES; p++)
		assert_true(
			isfinite(place_cost(&(struct place_rule){(enum place_policy)p, PLACE_K1, PLACE_K2}, &owner)));
}

/* While every station has one of ours, ours lets a task wait; stations that may not be used are
 * not. */
static void nowhere(void **state)
{
	struct load table[2] = {quiet, quiet};
	bool usable[2] = {false, false};
	int turn = 0;

	assert_int_equal(place_choose(&fim, table, usable, 2, &turn), PLACE_NOWHERE);
	table[0].ours = table[1].ours = 1;
	assert_int_equal(place_choose(&waits, table, NULL, 2, &turn), PLACE_NOWHERE);
	assert_int_equal(place_choose(&fim, table, NULL, 2, &turn), 0);
}

static void weights(void **state)
{
	double k = 3;
	struct err err;

	assert_int_equal(place_weight_read("k1", NULL, &k, &err), 0);
	assert_true(k == 3);
	assert_int_equal(place_weight_read("k1", "0.5", &k, &err), 0);
	assert_true(k == 0.5);
	for (int i = 0; i < 5; i++) {
		assert_true(place_weight_read("k2", (const char *[]){"", "x", "-1", "nan", "2,5"}[i], &k, &err) < 0);
		assert_non_null(strstr(err.text, "from 0 to 1000000"));
	}
	assert_true(k == 0.5);
}

static struct stations_result run(enum place_policy policy, enum discipline d, double load, bool alone)
{
	return stations_run(&(struct stations_case){.rule = {policy, PLACE_K1, PLACE_K2},
						    .discipline = d,
						    .load = load,
						    .share = {0.02, 0.18, 0.8},
						    .alone = alone,
						    .quantum = 0.5,
						    .interval = 5,
						    .seed = 3,
						    .jobs = 60});
}

/* Owners who are served at once notice nothing at all; sharing they do; a quantum lies between. */
static void owners_notice(void **state)
{
	struct stations_result alone = run(PLACE_FIM, DISCIPLINE_POOL, 0.8, true),
			       at_once = run(PLACE_FIM, DISCIPLINE_POOL, 0.8, false),
			       quantum = run(PLACE_FIM, DISCIPLINE_QUANTUM, 0.8, false),
			       shared = run(PLACE_FIM, DISCIPLINE_SHARED, 0.8, false);

	assert_int_equal(at_once.ended[CLASS_PARALLEL], 60);
	assert_true(fabs(at_once.response[CLASS_INTERACTIVE] / alone.response[CLASS_INTERACTIVE] - 1) < 0.05);
	assert_true(quantum.response[CLASS_INTERACTIVE] > at_once.response[CLASS_INTERACTIVE]);
	assert_true(shared.response[CLASS_INTERACTIVE] > quantum.response[CLASS_INTERACTIVE]);
	assert_true(shared.response[CLASS_BATCH] > quantum.response[CLASS_BATCH]);
}

static struct stations_result bench(enum place_policy policy, const struct stations_bench *b, int64_t jobs)
{
	return stations_run(&(struct stations_case){.rule = {policy, PLACE_K1, PLACE_K2},
						    .discipline = DISCIPLINE_POOL_SHARED,
						    .interval = 0.3,
						    .seed = 3,
						    .jobs = jobs,
						    .bench = b});
}

/* What daemons and the start of tasks take makes jobs longer; quotas make them shorter,
 * since an idle station begins with a whole one. Every policy completes all jobs. */
static void the_pool_of_the_benchmark(void **state)
{
	static const struct stations_bench fluid = {.unit = 0.2, .period = 0.02},
					   dear = {.unit = 0.2, .period = 0.02, .start = 0.02},
					   lame = {.unit = 0.2, .period = 0.02, .idle = 0.01},
					   quotas = {.unit = 0.2, .period = 0.1, .late = 0.002};

	for (int p = 0; p < PLACE_POLICIES; p++) {
		double plain = bench((enum place_policy)p, &fluid, 20).response[CLASS_PARALLEL];
		assert_int_equal(bench((enum place_policy)p, &quotas, 20).ended[CLASS_PARALLEL], 18);
		assert_true(plain > 0.2 * 4 * 0.3 / 0.08); /* its chain on the fastest station */
		assert_true(bench((enum place_policy)p, &dear, 20).response[CLASS_PARALLEL] > plain);
		assert_true(bench((enum place_policy)p, &lame, 20).response[CLASS_PARALLEL] > plain);
	}

	double plain = bench(PLACE_FIM, &fluid, 99).response[CLASS_PARALLEL];
	assert_true(bench(PLACE_FIM, &quotas, 99).response[CLASS_PARALLEL] < plain);
	assert_true(plain < bench(PLACE_ROUND_ROBIN, &fluid, 99).response[CLASS_PARALLEL]);
}

/* Tasks that sleep take their time at the speed of the station, twice as long beside an owner's
 * process, and starting them takes as long everywhere. */
static void tasks_asleep(void **state)
{
	static const struct stations_bench plain = {.unit = 0.2, .asleep = true},
					   slow = {.unit = 0.2, .asleep = true, .start = 0.1};
	double chain = 0, short_chain = 4 * 0.3 * 0.2 / 0.08; /* its smallest tasks on the fastest station */

	for (int p = 0; p < PLACE_POLICIES; p++) {
		struct stations_result r = bench((enum place_policy)p, &plain, 60),
				       later = bench((enum place_policy)p, &slow, 60);
		assert_int_equal(r.ended[CLASS_PARALLEL], 60);
		assert_true(r.response[CLASS_PARALLEL] > short_chain);
		assert_true(later.response[CLASS_PARALLEL] > r.response[CLASS_PARALLEL] + 4 * 0.1 / 2);
		chain += r.response[CLASS_PARALLEL];
	}
	assert_true(bench(PLACE_OURS, &plain, 60).response[CLASS_PARALLEL] < chain / PLACE_POLICIES);
}

/* The jobs of a user are those of the seed, whatever the others do. */
static void sizes_of_the_benchmark(void **state)
{
	double a[BENCH_TASKS], b[BENCH_TASKS], other[BENCH_TASKS];

	stations_bench_sizes(7, 1, 3, a);
	stations_bench_sizes(7, 1, 3, b);
	assert_memory_equal(a, b, sizeof a);
	for (int i = 0; i < BENCH_TASKS; i++)
		assert_true(i < 4 ? a[i] >= 0.3 && a[i] < 0.6 : a[i] >= 0.1 && a[i] < 0.4);
	stations_bench_sizes(7, 2, 3, other);
	assert_memory_not_equal(a, other, sizeof a);
	stations_bench_sizes(7, 1, 4, other);
	assert_memory_not_equal(a, other, sizeof a);
	stations_bench_sizes(8, 1, 3, other);
	assert_memory_not_equal(a, other, sizeof a);
}

static void repeats(void **state)
{
	struct stations_result a = run(PLACE_OURS, DISCIPLINE_POOL, 0.7, false),
			       b = run(PLACE_OURS, DISCIPLINE_POOL, 0.7, false);

	assert_memory_equal(&a, &b, sizeof a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(bursts),
		cmocka_unit_test(owners_weigh),
		cmocka_unit_test(weights),
		cmocka_unit_test(nowhere),
		cmocka_unit_test(owners_notice),
		cmocka_unit_test(the_pool_of_the_benchmark),
		cmocka_unit_test(tasks_asleep),
		cmocka_unit_test(sizes_of_the_benchmark),
		cmocka_unit_test(repeats),
	};

	return cmocka_run_group_tests_name("stations", tests, NULL, NULL);
}
