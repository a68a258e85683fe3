/*
 * test_libra.c - prices: what they are, how they are rounded, and what a budget covers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rng.h"
#include "rules/libra.h"

static const struct credit_tariff cpu = {CREDIT_CPU, 100};

static struct libra_terms terms(int64_t estimate, int64_t window, int64_t alpha, int64_t beta)
{
	return (struct libra_terms){.estimate = estimate, .window = window, .alpha = alpha, .beta = beta};
}

static void the_price_is_alpha_e_and_beta_e_over_d(void **state)
{
	struct request r = {.nfrags = 2, .total = {.v = {4, 0, 0}}};
	struct libra_terms even = terms(3600, 7200, 100, 100), odd = terms(100, 7, 0, 1), free = terms(100, 7, 0, 0);

	assert_int_equal(libra_seconds(&even), 3600 + 1800);
	assert_int_equal(libra_price(&even, &cpu, &r), 4 * 5400);
	assert_int_equal(libra_price(&even, &(struct credit_tariff){CREDIT_NODE, 50}, &r), 5400);
	assert_int_equal(libra_price(&even, &(struct credit_tariff){CREDIT_GPU, 100}, &r), 0);
	assert_int_equal(libra_seconds(&odd), 515); /* 36 * 100 / 7 = 514.28... */
	assert_int_equal(libra_seconds(&free), 0);
	even.alpha = 250;
	assert_int_equal(libra_seconds(&even), 9000 + 1800);
	even = terms(INT64_C(1) << 40, 1, 1000000, 1000000);
	assert_int_equal(libra_seconds(&even), CREDIT_MOST);
}

static void budgets_are_hours(void **state)
{
	struct err err;
	int64_t n;

	assert_int_equal(libra_budget_parse("2", &n, &err), 0);
	assert_int_equal(n, 7200);
	assert_int_equal(libra_budget_parse("1:30", &n, &err), 0);
	assert_int_equal(n, 5400);
	assert_int_equal(libra_budget_parse("1:30:07", &n, &err), 0);
	assert_int_equal(n, 5407);
	assert_true(libra_budget_parse("much", &n, &err) < 0);
	assert_true(libra_budget_parse("-1", &n, &err) < 0);
	assert_true(libra_budget_parse("1::", &n, &err) < 0);
	assert_true(libra_budget_parse("", &n, &err) < 0);
}

/* A later deadline never costs more, and the shortest window that a budget covers is just that. */
static void later_is_cheaper_and_the_window_is_the_first(void **state)
{
	struct rng r;

	rng_seed(&r, 1);
	for (int i = 0; i < 20000; i++) {
		struct request q = {.nfrags = 1, .total = {.v = {1 + (int64_t)rng_below(&r, 64), 0, 0}}};
		struct libra_terms t = terms(1 + (int64_t)rng_below(&r, 100000), 1 + (int64_t)rng_below(&r, 1000000),
					     (int64_t)rng_below(&r, 300), (int64_t)rng_below(&r, 100000)),
				   later = t;
		int64_t price = libra_price(&t, &cpu, &q), window;

		later.window += (int64_t)rng_below(&r, 100000);
		assert_true(libra_price(&later, &cpu, &q) <= price);
		t.budget = price - (int64_t)rng_below(&r, 3) * price / 3;
		window = libra_window(&t, &cpu, &q);
		if (t.budget == price)
			assert_true(window > 0 && window <= t.window);
		t.window = window ? window : INT64_C(1) << 40;
		assert_int_equal(libra_price(&t, &cpu, &q) <= t.budget, window > 0);
		if (window > 1) {
			t.window--;
			assert_true(libra_price(&t, &cpu, &q) > t.budget);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_price_is_alpha_e_and_beta_e_over_d),
		cmocka_unit_test(budgets_are_hours),
		cmocka_unit_test(later_is_cheaper_and_the_window_is_the_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
