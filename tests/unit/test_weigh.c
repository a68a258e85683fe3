/*
 * test_weigh.c - the order of jobs that wait: ranks by queues, and exchanged by priorities.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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

/* The same ranks are left, in order; a second time changes nothing; of equal priority nobody overtakes. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queues_count_as_minutes),
		cmocka_unit_test(places_are_exchanged),
		cmocka_unit_test(random_ladders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
