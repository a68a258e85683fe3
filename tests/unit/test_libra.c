/*
 * test_libra.c - prices: what they are, how they are rounded, and what a budget covers; shares of nodes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
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

static void a_share_is_what_is_left_by_the_time_left(void **state)
{
	struct libra_run half = {2, 50, 100}, whole = {1, 100, 100}, late = {1, 101, 100}, done = {1, 0, 5};
	struct libra_node node[3] = {{2, &half, 1}, {2, NULL, 0}, {1, NULL, 0}};

	assert_int_equal(libra_share(&half, 0), LIBRA_CPU);
	assert_int_equal(libra_share(&half, 25), LIBRA_CPU * 4 / 3 + 1);
	assert_int_equal(libra_share(&whole, 0), LIBRA_CPU);
	assert_int_equal(libra_share(&late, 0), INT64_MAX);
	assert_int_equal(libra_share(&done, 10), 0);
	assert_int_equal(libra_left(&half, LIBRA_CPU, 100), 0);
	assert_int_equal(libra_left(&half, LIBRA_CPU, 50), 25);
	assert_int_equal(libra_place(node, 3, &whole, 0), 1); /* the first of the least loaded */
	assert_int_equal(libra_place(node, 1, &whole, 0), 0);
	assert_int_equal(libra_place(node, 1, &(struct libra_run){2, 51, 100}, 0), -1);
	assert_int_equal(libra_place(node + 2, 1, &half, 0), -1); /* more CPUs than there are */
	assert_int_equal(libra_place(node, 3, &late, 0), -1);
}

#define SHARED_NODES 3
#define SHARED_JOBS 40
#define TICK 10000 /* microseconds: shares are set anew that often */

struct shared {
	struct libra_run run[SHARED_JOBS];
	struct libra_node node;
};

/* Jobs have their shares, some more now and then, and leave at their deadlines. */
static void shared_tick(struct shared *s, struct rng *r, int64_t now)
{
	int64_t spare = s->node.cpus * LIBRA_CPU - libra_load(&s->node, now), used = 0;

	assert_true(spare >= 0);
	for (size_t i = 0; i < s->node.n; i++) {
		struct libra_run *x = &s->run[i];
		int64_t share = libra_share(x, now), most = x->cpus * LIBRA_CPU;
		assert_true(share <= most); /* nobody is late */
		if (rng_below(r, 3) == 0 && spare > 0) {
			int64_t more = share + spare < most ? spare : most - share;
			share += more;
			spare -= more;
		}
		used += share;
		x->left = libra_left(x, share, TICK);
	}
	assert_true(used <= s->node.cpus * LIBRA_CPU);
	for (size_t i = s->node.n; i-- > 0;)
		if (s->run[i].deadline <= now + TICK) {
			assert_int_equal(s->run[i].left, 0);
			s->run[i] = s->run[--s->node.n];
		}
}

/* Random jobs on nodes of 1 to 4 CPUs: the shares never exceed the CPUs, and all that were admitted are done in time. */
static void shares_never_exceed_the_cpus_and_deadlines_are_met(void **state)
{
	int64_t admitted = 0, refused = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct shared *s = mem_zalloc(SHARED_NODES * sizeof *s);
		struct libra_node node[SHARED_NODES];
		struct rng r;

		rng_seed(&r, seed);
		for (int i = 0; i < SHARED_NODES; i++)
			s[i].node = (struct libra_node){1 + (int64_t)rng_below(&r, 4), s[i].run, 0};
		for (int64_t now = 0; now < 500 * TICK; now += TICK) {
			int64_t window = (1 + (int64_t)rng_below(&r, 60)) * TICK, at;
			struct libra_run x = {1 + (int64_t)rng_below(&r, 3),
					      1 + (int64_t)rng_below(&r, (uint64_t)window + 100), now + window};

			for (int i = 0; i < SHARED_NODES; i++)
				node[i] = s[i].node;
			at = libra_place(node, SHARED_NODES, &x, now);
			admitted += at >= 0;
			refused += at < 0;
			if (at >= 0 && s[at].node.n < SHARED_JOBS)
				s[at].run[s[at].node.n++] = x;
			for (int i = 0; i < SHARED_NODES; i++)
				shared_tick(&s[i], &r, now);
		}
		free(s);
	}
	assert_true(admitted > 5000 && refused > 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_price_is_alpha_e_and_beta_e_over_d),
		cmocka_unit_test(budgets_are_hours),
		cmocka_unit_test(later_is_cheaper_and_the_window_is_the_first),
		cmocka_unit_test(a_share_is_what_is_left_by_the_time_left),
		cmocka_unit_test(shares_never_exceed_the_cpus_and_deadlines_are_met),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
