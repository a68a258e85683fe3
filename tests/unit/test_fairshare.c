/*
 * test_fairshare.c - use, targets and the tree: who comes first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "rules/fairshare.h"

#define HOUR INT64_C(3600000)
#define TODAY 20000

static const struct fairshare_settings WEEK = {.window = 1, .depth = 7, .decay = 50};

static void use(struct shares *x, const char *account, const char *group, const char *user, int64_t day, int64_t ms)
{
	shares_use(x, shares_member(x, account, group, user), day, ms);
}

static double standing(struct shares *x, const char *account, const char *group, const char *user)
{
	return shares_standing(x, shares_member(x, account, group, user));
}

/* Without targets all users are equal, whatever their groups and accounts. */
static void no_targets(void **state)
{
	(void)state;
	struct shares *x = shares_create();

	use(x, "", "g", "a", TODAY, 3 * HOUR);
	use(x, "p", "h", "b", TODAY, 1 * HOUR);
	use(x, "", "g", "c", TODAY, 2 * HOUR);
	use(x, "q", "g", "c", TODAY, 2 * HOUR); /* one user, on two accounts: together */
	shares_rank(x, &WEEK, TODAY);
	assert_float_equal(standing(x, "p", "h", "b"), 200.0 / 3, 1e-9);
	assert_float_equal(standing(x, "", "g", "a"), 100.0 / 3, 1e-9);
	assert_float_equal(standing(x, "", "g", "c"), 0, 1e-9);
	assert_float_equal(standing(x, "q", "g", "c"), 0, 1e-9);
	/* who has used nothing is first; and changes nothing for the others */
	shares_member(x, "", "g", "new");
	assert_true(shares_stale(x));
	shares_rank(x, &WEEK, TODAY);
	assert_false(shares_stale(x));
	assert_float_equal(standing(x, "", "g", "new"), 100, 1e-9);
	assert_float_equal(standing(x, "", "g", "a"), 100.0 / 3, 1e-9);
	shares_destroy(x);
}

struct expected {
	const char *name;
	double target;
};

/* The groups, in the order of the tree. */
static void see_group(void *context, const struct share_row *r)
{
	const struct expected **next = context;

	if (r->level != SHARE_GROUP)
		return;
	assert_string_equal(r->name, (*next)->name);
	assert_float_equal(r->target, (*next)->target, 1e-9);
	++*next;
}

/* Group A gets 40 percent: it is behind once it has more, though each of its users has less than
 * others have. */
static void targets(void **state)
{
	(void)state;
	static const struct expected groups[] = {{"idle", 40}, {"A", 40}, {"C", 10}, {"B", 10}, {NULL, 0}};
	const struct expected *next = groups;
	struct shares *x = shares_create();

	shares_target(x, SHARE_GROUP, "A", 40);
	use(x, "", "A", "a1", TODAY, 39 * HOUR);
	use(x, "", "B", "b1", TODAY, 31 * HOUR);
	use(x, "", "C", "c1", TODAY, 30 * HOUR);
	shares_rank(x, &WEEK, TODAY); /* B and C divide what is left, 30 each */
	assert_true(standing(x, "", "A", "a1") > standing(x, "", "C", "c1"));
	assert_true(standing(x, "", "C", "c1") > standing(x, "", "B", "b1"));
	use(x, "", "A", "a2", TODAY, 2 * HOUR);
	shares_rank(x, &WEEK, TODAY);
	assert_true(standing(x, "", "B", "b1") < standing(x, "", "C", "c1"));
	assert_true(standing(x, "", "A", "a2") < standing(x, "", "C", "c1"));
	assert_true(standing(x, "", "A", "a2") > standing(x, "", "A", "a1"));
	assert_true(standing(x, "", "B", "b1") < standing(x, "", "A", "a1"));
	/* a target of a group that has used nothing is kept free of the others' shares, and
	 * listed */
	shares_target(x, SHARE_GROUP, "idle", 40);
	shares_rank(x, &WEEK, TODAY);
	shares_list(x, see_group, &next);
	assert_null(next->name);
	shares_target(x, SHARE_GROUP, "idle", -1);
	/* a target of 0 is behind everybody */
	shares_target(x, SHARE_GROUP, "B", 0);
	shares_rank(x, &WEEK, TODAY);
	assert_float_equal(standing(x, "", "B", "b1"), 0, 1e-9);
	/* none left */
	shares_forget_targets(x);
	shares_rank(x, &WEEK, TODAY);
	assert_float_equal(standing(x, "", "A", "a2"), 75, 1e-9);
	shares_destroy(x);
}

/* Accounts below accounts: what decides is the highest level on which two differ. */
static void tree(void **state)
{
	(void)state;
	struct shares *x = shares_create();

	shares_target(x, SHARE_ACCOUNT, "physics", 50);
	shares_target(x, SHARE_ACCOUNT, "biology", 50);
	shares_parent(x, "lasers", "physics");
	shares_target(x, SHARE_ACCOUNT, "history", 0); /* nobody uses it */
	shares_parent(x, "optics", "physics");
	shares_target(x, SHARE_ACCOUNT, "lasers", 90);
	shares_target(x, SHARE_ACCOUNT, "optics", 10);
	use(x, "lasers", "g", "l", TODAY, 60 * HOUR);
	use(x, "optics", "g", "o", TODAY, 20 * HOUR);
	use(x, "biology", "g", "b", TODAY, 79 * HOUR);
	shares_rank(x, &WEEK, TODAY);
	/* physics had 80, biology 79: all of biology is first, though lasers had 60 */
	assert_float_equal(standing(x, "biology", "g", "b"), 200.0 / 3, 1e-9);
	assert_float_equal(standing(x, "lasers", "g", "l"), 100.0 / 3, 1e-9);
	assert_float_equal(standing(x, "optics", "g", "o"), 0, 1e-9);
	/* when both have had the same, what is below them is compared as if they were one */
	use(x, "biology", "g", "b", TODAY, 1 * HOUR);
	use(x, "biology", "g", "b2", TODAY, 1);
	use(x, "lasers", "g", "l", TODAY, 1);
	shares_rank(x, &WEEK, TODAY);
	assert_float_equal(standing(x, "biology", "g", "b2"), 75, 1e-9); /* hardly anything of 50 */
	assert_float_equal(standing(x, "lasers", "g", "l"), 50, 1e-9);	 /* 60 of 90 */
	assert_float_equal(standing(x, "biology", "g", "b"), 25, 1e-9);	 /* 80 of 50 */
	assert_float_equal(standing(x, "optics", "g", "o"), 0, 1e-9);	 /* 20 of 10 */
	shares_destroy(x);
}

static void circle_of_parents_ends(void **state)
{
	(void)state;
	struct shares *x = shares_create();

	shares_parent(x, "a", "b");
	shares_parent(x, "b", "a");
	use(x, "a", "g", "u", TODAY, HOUR);
	shares_rank(x, &WEEK, TODAY);
	assert_float_equal(standing(x, "a", "g", "u"), 0, 1e-9);
	shares_destroy(x);
}

/* 8 hours three days ago are worth one today; what is older than the depth nothing; and running
 * jobs count as long as they are said to. */
static void decay(void **state)
{
	(void)state;
	struct shares *x = shares_create();
	uint32_t a = shares_member(x, "", "g", "a"), b = shares_member(x, "", "g", "b");

	shares_use(x, a, TODAY - 3, 8 * HOUR);
	shares_use(x, b, TODAY, 1 * HOUR);
	shares_rank(x, &WEEK, TODAY);
	assert_float_equal(shares_standing(x, a), shares_standing(x, b), 1e-9);
	shares_run(x, a, TODAY, 1);
	shares_rank(x, &WEEK, TODAY);
	assert_true(shares_standing(x, a) < shares_standing(x, b));
	shares_settle(x);
	shares_rank(x, &WEEK, TODAY);
	assert_float_equal(shares_standing(x, a), shares_standing(x, b), 1e-9);
	shares_use(x, b, TODAY - 7, 1000 * HOUR);
	shares_rank(x, &WEEK, TODAY);
	assert_float_equal(shares_standing(x, a), shares_standing(x, b), 1e-9);
	shares_rank(x, &WEEK, TODAY + 100);
	assert_float_equal(shares_standing(x, a), 100, 1e-9);
	shares_destroy(x);
}

struct seen {
	int rows;
	double used;
};

static void see(void *context, const struct share_row *r)
{
	struct seen *x = context;

	x->rows++;
	x->used += r->depth == 0 ? r->used : 0;
	assert_true(r->used > 0 && r->used <= 100 && r->cpu_hours > 0 && r->standing >= 0 && r->standing < 100);
}

/* Ten years of all of a large cluster, with any decay: every number stays a number, and the
 * listed parts are the whole. */
static void ten_years(void **state)
{
	(void)state;
	for (int64_t percent = 1; percent <= 100; percent += 33) {
		struct fairshare_settings f = {.window = 1, .depth = 3660, .decay = percent};
		struct shares *x = shares_create();
		struct seen seen = {0};
		shares_target(x, SHARE_USER, "u0", 100);
		for (int64_t day = TODAY - 3700; day <= TODAY; day++)
			for (int u = 0; u < 3; u++) {
				char name[16];
				snprintf(name, sizeof name, "u%d", u);
				use(x, "", "g", name, day, 24 * HOUR * 1000000 * (u + 1));
			}
		shares_rank(x, &f, TODAY);
		shares_list(x, see, &seen);
		assert_int_equal(seen.rows, 3);
		assert_float_equal(seen.used, 100, 1e-6);
		assert_float_equal(standing(x, "", "g", "u0"), 200.0 / 3, 1e-9);
		shares_destroy(x);
	}
}

/* The same standings, in whatever order use came in. */
static void order_does_not_matter(void **state)
{
	(void)state;
	struct rng rng;

	rng_seed(&rng, 7);
	for (int round = 0; round < 200; round++) {
		struct shares *x[2] = {shares_create(), shares_create()};
		struct {
			char account[4], group[4], user[4];
			int64_t day, ms;
		} v[40];
		struct fairshare_settings f = {.window = 1 + (int64_t)rng_below(&rng, 4),
					       .depth = 1 + (int64_t)rng_below(&rng, 9),
					       .decay = 1 + (int64_t)rng_below(&rng, 100)};
		for (int i = 0; i < 40; i++) {
			snprintf(v[i].account, sizeof v[i].account, "a%d", (int)rng_below(&rng, 4));
			snprintf(v[i].group, sizeof v[i].group, "g%d", (int)rng_below(&rng, 3));
			snprintf(v[i].user, sizeof v[i].user, "u%d", (int)rng_below(&rng, 6));
			v[i].day = TODAY - (int64_t)rng_below(&rng, 30);
			v[i].ms = (int64_t)rng_below(&rng, 5) * HOUR;
		}
		for (int k = 0; k < 2; k++) {
			shares_parent(x[k], "a2", "a1");
			shares_target(x[k], SHARE_ACCOUNT, "a0", round % 90);
			if (round % 2)
				shares_target(x[k], SHARE_GROUP, "g1", 30);
		}
		for (int i = 0; i < 40; i++) {
			use(x[0], v[i].account, v[i].group, v[i].user, v[i].day, v[i].ms);
			use(x[1], v[39 - i].account, v[39 - i].group, v[39 - i].user, v[39 - i].day, v[39 - i].ms);
			if (i % 7 == 0)
				shares_rank(x[0], &f, TODAY);
		}
		for (int k = 0; k < 2; k++)
			shares_rank(x[k], &f, TODAY);
		for (int i = 0; i < 40; i++)
			assert_true(standing(x[0], v[i].account, v[i].group, v[i].user) ==
				    standing(x[1], v[i].account, v[i].group, v[i].user));
		shares_destroy(x[0]);
		shares_destroy(x[1]);
	}
}

/* A site with 100,000 users is ordered at once. */
static void many(void **state)
{
	(void)state;
	struct shares *x = shares_create();
	char name[16];

	for (int64_t i = 0; i < 100000; i++) {
		snprintf(name, sizeof name, "u%d", (int)i);
		use(x, "", "g", name, TODAY, HOUR + i);
	}
	shares_rank(x, &WEEK, TODAY);
	assert_float_equal(standing(x, "", "g", "u0"), 99.999, 1e-9);
	assert_float_equal(standing(x, "", "g", "u99999"), 0, 1e-9);
	shares_destroy(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_targets),
		cmocka_unit_test(targets),
		cmocka_unit_test(tree),
		cmocka_unit_test(circle_of_parents_ends),
		cmocka_unit_test(decay),
		cmocka_unit_test(ten_years),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
