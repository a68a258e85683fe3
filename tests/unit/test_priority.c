/*
 * test_priority.c - priorities from weighted factors, as a sum and as a product of stages.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/timetext.h"
#include "rules/priority.h"

#define NOW 1000000

static const struct prioritized plain = {
	.rank = NOW - 3600, .walltime = 7200, .deadline = TIME_NEVER, .cpus = 4, .memory = 2 * 1024 * 1024};

static void set(struct attrs *a, const char *name, const char *value)
{
	struct err err;

	if (attrs_change(a, ATTR_SET, name, value, &err) < 0)
		fail_msg("%s = %s: %s", name, value, err.text);
}

static double priority(const struct attrs *a, const struct prioritized *job)
{
	struct priority_settings x;
	struct weighing w;

	assert_int_equal(priority_settings_of(&x, a, NULL), 0);
	priority_weigh(&x, job, NOW, &w);
	return w.priority;
}

static void sum_of_weighted_factors(void **state)
{
	struct prioritized job = plain;
	struct attrs a;

	attrs_init(&a, ATTR_SERVER);
	set(&a, "priority_order", "sum");
	assert_true(priority(&a, &job) == 60); /* minutes, by default */
	set(&a, "priority_weight.cpus", "10");
	set(&a, "priority_weight.memory", "-5");
	set(&a, "priority_weight.expansion", "100");
	set(&a, "priority_weight.walltime", "1000");
	assert_true(priority(&a, &job) == 60 + 40 - 10 + 150 + 2000);
	set(&a, "priority_weight.queue", "2");
	job.queue = 100;
	assert_true(priority(&a, &job) == 60 + 40 - 10 + 150 + 2000 + 200);
	attrs_fini(&a);
}

static void nearness_of_a_deadline(void **state)
{
	struct prioritized job = plain;
	struct attrs a;

	attrs_init(&a, ATTR_SERVER);
	set(&a, "priority_order", "sum");
	set(&a, "priority_weight.queue_time", "0");
	set(&a, "priority_weight.deadline", "1");
	assert_true(priority(&a, &job) == 0);
	job.deadline = NOW + 4 * 7200;
	assert_true(priority(&a, &job) == 25);
	job.deadline = NOW + 7200;
	assert_true(priority(&a, &job) == 100);
	job.deadline = NOW - 1;
	assert_true(priority(&a, &job) == 100);
	attrs_fini(&a);
}

static void product_of_stages(void **state)
{
	struct prioritized job = plain;
	struct attrs a;

	attrs_init(&a, ATTR_SERVER);
	set(&a, "priority_order", "product");
	set(&a, "priority_high.queue_time", "120");
	assert_true(priority(&a, &job) == 0.5);
	set(&a, "priority_weight.cpus", "2");
	set(&a, "priority_high.cpus", "8");
	assert_true(priority(&a, &job) == 0.5 * 0.25); /* a stage to the power of its weight */
	set(&a, "priority_weight.cpus", "-1");
	job.cpus = 2;
	assert_true(priority(&a, &job) == 0.5 * 0.75); /* few first */
	job.cpus = 100;
	assert_true(priority(&a, &job) == 0); /* it is clamped */
	set(&a, "priority_weight.cpus", "0");
	assert_true(priority(&a, &job) == 0.5); /* weight 0: no effect */
	attrs_fini(&a);
}

static void extremes_stay_numbers(void **state)
{
	struct prioritized job = {.rank = -1e300,
				  .walltime = 0,
				  .deadline = 0,
				  .cpus = INT64_MAX,
				  .memory = INT64_MAX,
				  .queue = INT64_MIN};
	static const char *const orders[] = {"sum", "product"};
	struct attrs a;

	attrs_init(&a, ATTR_SERVER);
	for (int i = 0; i < FACTOR_COUNT; i++) {
		char name[64];
		snprintf(name, sizeof name, "priority_weight.%s", factor_table[i].name);
		set(&a, name, i % 2 ? "1000000000" : "-1000000000");
	}
	for (int i = 0; i < 2; i++) {
		set(&a, "priority_order", orders[i]);
		assert_true(isfinite(priority(&a, &job)));
	}
	attrs_fini(&a);
}

/* The order of two jobs may change with time, or never does. */
static void what_drifts(void **state)
{
	static const struct {
		const char *order, *factor;
		bool drifts;
	} rows[] = {{"sum", "cpus", false},	   {"sum", "walltime", false}, {"sum", "expansion", true},
		    {"sum", "deadline", true},	   {"product", "cpus", true}, /* queue time has a weight */
		    {"product", "expansion", true}};
	struct priority_settings x;
	struct attrs a;
	char name[64];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		attrs_init(&a, ATTR_SERVER);
		set(&a, "priority_order", rows[i].order);
		snprintf(name, sizeof name, "priority_weight.%s", rows[i].factor);
		set(&a, name, "3");
		assert_int_equal(priority_settings_of(&x, &a, NULL), 0);
		assert_int_equal(priority_drifts(&x), rows[i].drifts);
		attrs_fini(&a);
	}
}

static void wrong_settings_are_named(void **state)
{
	struct priority_settings x;
	struct attrs a;
	struct err err;

	attrs_init(&a, ATTR_SERVER);
	assert_true(attrs_change(&a, ATTR_SET, "priority_weight.cpu", "1", &err) < 0);
	assert_non_null(strstr(err.text, "unknown factor \"cpu\""));
	assert_true(attrs_change(&a, ATTR_SET, "priority_weight", "1", &err) < 0);
	assert_non_null(strstr(err.text, "needs a factor"));
	assert_true(attrs_change(&a, ATTR_SET, "priority_weight.cpus", "much", &err) < 0);
	assert_true(attrs_change(&a, ATTR_SET, "priority_weight.cpus", "1000000001", &err) < 0);
	set(&a, "priority_low.cpus", "8");
	set(&a, "priority_high.cpus", "8");
	assert_true(priority_settings_of(&x, &a, &err) < 0);
	assert_non_null(strstr(err.text, "priority_low.cpus (8) must be below priority_high.cpus (8)"));
	attrs_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sum_of_weighted_factors),
		cmocka_unit_test(nearness_of_a_deadline),
		cmocka_unit_test(product_of_stages),
		cmocka_unit_test(extremes_stay_numbers),
		cmocka_unit_test(what_drifts),
		cmocka_unit_test(wrong_settings_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
