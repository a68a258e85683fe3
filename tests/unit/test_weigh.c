/*
 * test_weigh.c - the order of jobs that wait: ranks by queues, and exchanged by priorities.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "rules/weigh.h"

static void queues_count_as_minutes(void **state)
{
	struct attrs queue;
	struct err err;

	attrs_init(&queue, ATTR_QUEUE);
	assert_true(weigh_rank(NULL, 1000.5) == 1000.5);
	assert_true(weigh_rank(&queue, 1000.5) == 1000.5);
	assert_int_equal(attrs_change(&queue, ATTR_SET, "priority", "5", &err), 0);
	assert_true(weigh_rank(&queue, 1000.5) == 700.5);
	assert_int_equal(attrs_change(&queue, ATTR_SET, "priority", "-2", &err), 0);
	assert_true(weigh_rank(&queue, 1000.5) == 1120.5);
	assert_true(weigh_moved(NULL, &queue, 1000.5) == 1120.5);
	assert_true(weigh_moved(&queue, NULL, 1120.5) == 1000.5);
	assert_true(weigh_moved(&queue, &queue, 1120.5) == 1120.5);
	attrs_fini(&queue);
}

static void places_are_exchanged(void **state)
{
	struct rung v[] = {{30, 0, 3}, {10, 0, 1}, {20, 5, 2}, {40, 5, 4}, {50, -1, 5}};
	static const struct rung want[] = {{10, 5, 2}, {20, 5, 4}, {30, 0, 1}, {40, 0, 3}, {50, -1, 5}};

	weigh_share(v, 5);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(v[i].job, want[i].job);
		assert_true(v[i].rank == want[i].rank && v[i].priority == want[i].priority);
	}
	weigh_share(v, 0);
	weigh_share(v, 1);
}

/* The same ranks are left, in order; a second time changes nothing; of equal priority nobody
 * overtakes. */
static void random_ladders(void **state)
{
	struct rng rng;
	struct rung v[40], before[40];

	rng_seed(&rng, 1);
	for (int round = 0; round < 200; round++) {
		size_t n = 1 + rng_below(&rng, 40);
		double sum = 0;
		for (size_t i = 0; i < n; i++) {
			v[i] = (struct rung){(double)rng_below(&rng, 30), (int)rng_below(&rng, 4), (uint32_t)i};
			sum += before[i].rank = v[i].rank;
		}
		weigh_share(v, n);
		for (size_t i = 0; i < n; i++) {
			sum -= v[i].rank;
			if (i == 0)
				continue;
			assert_true(v[i - 1].rank <= v[i].rank && v[i - 1].priority >= v[i].priority);
			if (v[i - 1].priority == v[i].priority)
				assert_true(before[v[i - 1].job].rank <= before[v[i].job].rank);
		}
		assert_true(sum == 0);
	}
}

static int rung_cmp(const void *a, const void *b)
{
	const struct rung *x = a, *y = b;

	return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : x->job < y->job ? -1 : x->job > y->job;
}

/* Jobs are inserted where they should be, the others keep their order, and that is so in
 * microseconds. */
static void jobs_are_inserted(void **state)
{
	struct rng rng;

	rng_seed(&rng, 7);
	for (int round = 0; round < 3000; round++) {
		struct rung v[24], moved[3], all[24], before[24];
		size_t n = 1 + rng_below(&rng, 20), k = 1 + rng_below(&rng, 3), at = rng_below(&rng, n + 1);
		for (size_t i = 0; i < n; i++) /* many are the same, or next to each other */
			v[i] = (struct rung){1700000000 + (double)rng_below(&rng, 6) / 1e6 * (round % 2 ? 1 : 1e6), 0,
					     (uint32_t)i + 1};
		qsort(v, n, sizeof *v, rung_cmp);
		memcpy(before, v, sizeof v);
		for (size_t i = 0; i < k; i++)
			moved[i] = (struct rung){4e9, 0, (uint32_t)(100 + i)};
		struct rung after = at ? v[at - 1] : (struct rung){0};
		size_t pushed = weigh_insert(v, n, at ? &after : NULL, moved, k, 1700000100);
		memcpy(all, before, sizeof all);
		for (size_t i = 0; i < pushed; i++)
			for (size_t x = 0; x < n; x++)
				if (all[x].job == v[i].job)
					all[x] = v[i];
		memcpy(all + n, moved, k * sizeof *moved);
		for (size_t i = 0; i < n + k; i++) /* rounded like the store's */
			all[i].rank = (double)llround(all[i].rank * 1e6) / 1e6;
		qsort(all, n + k, sizeof *all, rung_cmp);
		for (size_t i = 0; i < n + k; i++) {
			uint32_t want = i < at	     ? before[i].job
					: i < at + k ? (uint32_t)(100 + i - at)
						     : before[i - k].job;
			assert_int_equal(all[i].job, want);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queues_count_as_minutes),
		cmocka_unit_test(places_are_exchanged),
		cmocka_unit_test(random_ladders),
		cmocka_unit_test(jobs_are_inserted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
