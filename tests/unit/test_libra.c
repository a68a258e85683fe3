/*
 * test_libra.c - prices: what they are, how they are rounded, and what a budget covers; shares of
 * nodes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "core/cluster.h"
#include "plan/insert.h"
#include "plan/plan.h"
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

static void a_share_is_the_estimate_by_the_time(void **state)
{
	struct libra_terms t = terms(3600, 7200, 100, 100);
	struct libra_part x;

	assert_true(libra_divide(&t, 2, &x));
	assert_int_equal(x.walltime, 7200 - 144);
	assert_int_equal(x.share, 2 * 3600 * SHARE_CPU / (7056 - 142) + 1); /* a little over one CPU */
	t = terms(1, 100000, 100, 100);
	assert_true(libra_divide(&t, 1, &x));
	assert_int_equal(x.share, 1); /* rounded up */
	t = terms(960, 1000, 100, 100);
	assert_true(libra_divide(&t, 1, &x));
	assert_int_equal(x.share, 1000);
	t = terms(961, 1000, 100, 100);
	assert_false(libra_divide(&t, 1, &x)); /* then it has its CPUs to itself */
	t = terms(1, 1, 100, 100);
	assert_false(libra_divide(&t, 1, &x));
}

/* A share never lets its job do less than its estimate in its walltime. */
static void a_share_suffices(void **state)
{
	struct rng r;

	rng_seed(&r, 7);
	for (int i = 0; i < 20000; i++) {
		struct libra_terms t =
			terms(1 + (int64_t)rng_below(&r, 100000), 1 + (int64_t)rng_below(&r, 1000000), 1, 1);
		int64_t cpus = 1 + (int64_t)rng_below(&r, 64);
		struct libra_part x;
		if (!libra_divide(&t, cpus, &x))
			continue;
		assert_true(x.walltime < t.window && x.share <= cpus * SHARE_CPU && x.share > 0);
		assert_true((__int128)x.share * x.walltime >= (__int128)cpus * t.estimate * SHARE_CPU);
	}
}

#define DIVIDED 3 /* nodes; another one has its CPUs whole */

/* Random shares, all at one instant: each goes to the least loaded node while that has room,
 * none to a node with whole CPUs, and a job for CPUs to none of the others. */
static void shares_go_to_the_least_loaded_node(void **state)
{
	static const enum alloc allocs[] = {ALLOC_BEST,	  ALLOC_FIRST,	    ALLOC_LOAD,
					    ALLOC_SPREAD, ALLOC_CONTIGUOUS, ALLOC_FASTEST};
	struct rng r;

	rng_seed(&r, 3);
	for (int round = 0; round < 200; round++) {
		struct cluster *c = cluster_create();
		struct manner m = {.alloc = allocs[rng_below(&r, 6)]};
		int64_t room[DIVIDED], used[DIVIDED] = {0};
		struct shape one = {.need = {.v = {[RES_CPU] = 2}}};
		struct frag f = {.node = NODE_ANY};
		uint32_t whole;
		cluster_add_node(c, "whole", &(struct res){.v = {[RES_CPU] = 2}}, NULL);
		for (int i = 0; i < DIVIDED; i++) {
			char name[8] = {'n', (char)('0' + i)};
			room[i] = (1 + (int64_t)rng_below(&r, 4)) * SHARE_CPU;
			cluster_add_node(c, name, &(struct res){.v = {[RES_SHARE] = room[i]}}, NULL);
		}
		struct plan *p = plan_create(c);
		f.shape = cluster_shape(c, &one);
		whole = cluster_intern(c, &f, 1);
		for (int k = 0; k < 30; k++) {
			struct job *job = cluster_add_job(c);
			int64_t share = 1 + (int64_t)rng_below(&r, 1500);
			int best = -1;
			job->request = k == 20 ? whole : cluster_request_divided(c, whole, share);
			job->walltime = 1000 - k;
			for (int i = 0; i < DIVIDED; i++)
				if (used[i] + share <= room[i] &&
				    (best < 0 ||
				     (double)used[i] / (double)room[i] < (double)used[best] / (double)room[best]))
					best = i;
			bool placed = plan_insert(p, &m, job->id, 0, job->walltime);
			if (k == 20) {
				assert_true(placed);
				assert_int_equal(plan_place(p, job->id, 0)->node, 0);
				continue;
			}
			assert_int_equal(placed, best >= 0);
			assert_int_equal(request_cpus(cluster_job_request(c, job)), 2);
			if (best < 0)
				continue;
			int node = plan_place(p, job->id, 0)->node - 1;
			assert_true(node >= 0 && used[node] * room[best] == used[best] * room[node]);
			used[node] += share;
		}
		plan_check(p);
		plan_destroy(p);
		cluster_destroy(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_price_is_alpha_e_and_beta_e_over_d),
		cmocka_unit_test(budgets_are_hours),
		cmocka_unit_test(later_is_cheaper_and_the_window_is_the_first),
		cmocka_unit_test(a_share_is_the_estimate_by_the_time),
		cmocka_unit_test(a_share_suffices),
		cmocka_unit_test(shares_go_to_the_least_loaded_node),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
