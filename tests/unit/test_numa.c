/*
 * test_numa.c - the CPUs of a part come from one NUMA node where they fit: random nodes, beside the
 * rule itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "core/numa.h"

#define CPUS 16

static void examples(void **state)
{
	static const int32_t two[8] = {0, 0, 0, 0, 1, 1, 1, 1};
	bool used[8] = {false};
	int32_t got[8];

	assert_true(numa_take(used, 8, two, 8, 3, got));
	assert_int_equal(got[0], 0);
	assert_true(numa_take(used, 8, two, 8, 3, got)); /* one is left of the first: all three of the second */
	assert_int_equal(got[0], 4);
	assert_true(numa_take(used, 8, two, 8, 1, got)); /* the fewest that are enough */
	assert_int_equal(got[0], 3);
	assert_false(numa_take(used, 8, two, 8, 2, got));
	assert_true(numa_take(used, 8, NULL, 0, 1, got));
	assert_int_equal(got[0], 7);
}

static void random_ones(void **state)
{
	for (uint64_t seed = 1; seed <= 5000; seed++) {
		int32_t numa[CPUS], got[CPUS];
		int64_t total, known, want, free_of[4] = {0}, all = 0;
		bool used[CPUS], before[CPUS], fits = false;
		struct rng r;
		rng_seed(&r, seed);
		total = rng_range(&r, 1, CPUS);
		known = rng_range(&r, 0, total);
		want = rng_range(&r, 0, 8);
		for (int i = 0; i < total; i++) {
			numa[i] = (int32_t)rng_range(&r, -1, 3);
			used[i] = before[i] = rng_below(&r, 2);
			all += !used[i];
			if (!used[i] && i < known && numa[i] >= 0)
				free_of[numa[i]]++;
		}
		for (int i = 0; i < 4; i++)
			fits |= free_of[i] >= want;
		assert_int_equal(numa_take(used, total, numa, known, want, got), all >= want);
		if (all < want)
			assert_memory_equal(used, before, (size_t)total);
		for (int64_t i = 0; i < want && all >= want; i++) {
			assert_true(used[got[i]] && !before[got[i]]);
			if (i)
				assert_true(got[i] > got[i - 1]);
			if (fits && known) {
				assert_int_equal(numa[got[i]], numa[got[0]]);
				for (int k = 0; k < 4; k++) /* none that is enough has fewer */
					assert_false(free_of[k] >= want && free_of[k] < free_of[numa[got[0]]]);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples),
		cmocka_unit_test(random_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
