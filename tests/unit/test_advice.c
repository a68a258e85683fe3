/*
 * test_advice.c - what to request next time: enough for what was used, never more CPUs, and worth
 * the change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "core/advice.h"

#define GIB (INT64_C(1) << 20)

static const struct advice_run usual = {.ran_ms = 700000,
					.cpu_ms = 800000,
					.peak_kib = 500 * 1024,
					.nodes = 1,
					.cpus = 4,
					.memory_kib = 4 * GIB,
					.walltime = 3600};

static void expect(const struct advice_run *runs, size_t n, const char *text)
{
	struct advice a = advice_make(runs, n);
	struct strbuf out = {0};

	advice_text(&a, runs, n, &out);
	assert_string_equal(strbuf_text(&out), text);
	strbuf_fini(&out);
}

static void says_what_to_request(void **state)
{
	struct advice_run r = usual;

	expect(&r, 1, "Next time request 2 CPUs instead of 4, and -l mem=640mb,walltime=00:15:00");
	r.walltime = 900;
	r.memory_kib = 640 * 1024;
	expect(&r, 1, "Next time request 2 CPUs instead of 4.");
	r.cpus = 2;
	expect(&r, 1, "The request fits.");
	r.nodes = 2; /* whose CPUs they are is not known */
	r.cpus = 64;
	expect(&r, 1, "The request fits.");
	r = usual;
	r.memory_kib = 0;
	r.cpus = 1;
	expect(&r, 1, "Next time request -l mem=640mb,walltime=00:15:00");
}

static void limits_that_were_too_small_are_doubled(void **state)
{
	struct advice_run r = usual;

	r.cpus = 1;
	r.out_of_time = true;
	r.ran_ms = 3600000;
	r.cpu_ms = 3600000;
	r.peak_kib = r.memory_kib - 1;
	expect(&r, 1, "Next time request -l mem=5gb,walltime=02:00:00");
	r.out_of_memory = true;
	expect(&r, 1, "Next time request -l mem=8gb,walltime=02:00:00");
}

static void the_largest_of_an_array_counts(void **state)
{
	struct advice_run r[3] = {usual, usual, usual};

	r[1].ran_ms = 3000000;
	r[2].peak_kib = 2 * GIB;
	expect(r, 3, "Next time request 1 CPU instead of 4, and -l mem=2560mb");
}

static void compares(void **state)
{
	struct strbuf out = {0};
	struct advice_run r = usual;

	advice_compare(&r, 1, &out);
	r.memory_kib = r.walltime = 0;
	advice_compare(&r, 1, &out);
	assert_string_equal(strbuf_text(&out), "CPUs      4 requested, 1.1 busy on average (29%)\n"
					       "memory    4 GB requested, 500 MB used at most (12%)\n"
					       "walltime  1h requested, 11m 40s used at most (19%)\n"
					       "CPUs      4 requested, 1.1 busy on average (29%)\n"
					       "memory    none requested, 500 MB used at most\n"
					       "walltime  none requested, 11m 40s used at most\n");
	strbuf_fini(&out);
}

/* Whatever was used: no run fails by the advice that it led to, unless it was ended at a limit;
 * and CPUs only get fewer. */
static void serves_those_it_is_made_of(void **state)
{
	struct rng rng;
	struct advice_run r[8];

	rng_seed(&rng, 7);
	for (int k = 0; k < 20000; k++) {
		size_t n = 1 + rng_below(&rng, 8);
		for (size_t i = 0; i < n; i++)
			r[i] = (struct advice_run){.ran_ms = (int64_t)(rng_below(&rng, 1000000) << rng_below(&rng, 20)),
						   .cpu_ms = (int64_t)(rng_below(&rng, 1000000) << rng_below(&rng, 20)),
						   .peak_kib =
							   (int64_t)(rng_below(&rng, 1000000) << rng_below(&rng, 20)),
						   .nodes = 1 + (int64_t)rng_below(&rng, 2),
						   .cpus = 1 + (int64_t)rng_below(&rng, 64),
						   .memory_kib = (int64_t)rng_below(&rng, 1 << 30),
						   .walltime = (int64_t)rng_below(&rng, 1 << 20),
						   .out_of_time = rng_below(&rng, 4) == 0,
						   .out_of_memory = rng_below(&rng, 4) == 0};
		struct advice a = advice_make(r, n);
		assert_true(a.cpus >= 0 && a.cpus < r[0].cpus && a.memory_kib >= 0 && a.walltime >= 0);
		bool cut = false;
		for (size_t i = 0; i < n; i++)
			cut |= r[i].out_of_time || r[i].out_of_memory;
		for (size_t i = 0; i < n && !cut; i++)
			assert_false(advice_fails(&a, &r[i]));
	}
}

static void fails_by_its_limits(void **state)
{
	struct advice a = {.memory_kib = GIB, .walltime = 600};
	struct advice_run r = {.ran_ms = 600000, .peak_kib = GIB, .walltime = 600, .memory_kib = GIB};

	assert_false(advice_fails(&a, &r));
	r.ran_ms++;
	assert_true(advice_fails(&a, &r));
	r.ran_ms = 1;
	r.peak_kib++;
	assert_true(advice_fails(&a, &r));
	a.memory_kib = 0; /* memory as requested */
	assert_false(advice_fails(&a, &r));
	r.out_of_time = true;
	assert_true(advice_fails(&a, &r));
	a.walltime = 1200;
	assert_false(advice_fails(&a, &r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_to_request),
		cmocka_unit_test(limits_that_were_too_small_are_doubled),
		cmocka_unit_test(the_largest_of_an_array_counts),
		cmocka_unit_test(compares),
		cmocka_unit_test(serves_those_it_is_made_of),
		cmocka_unit_test(fails_by_its_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
