/*
 * test_credit.c - credits: what expires first is spent first, nothing is lost, and random histories
 * balance.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/timetext.h"
#include "rules/credit.h"

static void deposit(struct credit *c, uint64_t id, int64_t amount, int64_t expires)
{
	credit_add(c, &(struct credit_deposit){id, amount, amount, expires});
}

static void what_expires_first_is_spent_first(void **state)
{
	struct credit c = {0};

	deposit(&c, 1, 100, TIME_NEVER);
	deposit(&c, 2, 50, 1000);
	assert_int_equal(credit_next(&c, 0), 1000);
	assert_int_equal(credit_spend(&c, 30), 30);
	assert_int_equal(c.deposits.v[0].id, 2);
	assert_int_equal(c.deposits.v[0].left, 20);
	assert_int_equal(credit_expire(&c, 999, 0), 0);
	assert_int_equal(credit_expire(&c, 1000, 110), 10); /* a job holds the rest */
	assert_int_equal(credit_expire(&c, 1000, 0), 10);
	assert_int_equal(credit_balance(&c), 100);
	assert_int_equal(credit_spend(&c, 500), 100);
	assert_int_equal(credit_balance(&c), 0);
	assert_int_equal(credit_next(&c, 0), TIME_NEVER);
	credit_fini(&c);
}

static void transfers_keep_their_dates(void **state)
{
	struct credit a = {0}, b = {0};
	uint64_t next = 10;

	deposit(&a, 1, 100, TIME_NEVER);
	deposit(&a, 2, 50, 1000);
	assert_int_equal(credit_transfer(&a, &b, 80, &next), 80);
	assert_int_equal(b.deposits.n, 2);
	assert_int_equal(b.deposits.v[0].expires, 1000);
	assert_int_equal(b.deposits.v[0].left, 50);
	assert_int_equal(credit_balance(&a), 70);
	assert_int_equal(credit_transfer(&a, &b, 1000, &next), 70);
	assert_int_equal(credit_balance(&b), 150);
	credit_fini(&a);
	credit_fini(&b);
}

static void prices_are_rounded_up_and_never_more_than_held(void **state)
{
	struct credit_tariff cpu = {CREDIT_CPU, 100}, dear = {CREDIT_CPU, 150}, memory = {CREDIT_MEMORY, 100},
			     gift = {CREDIT_GPU, 0};
	struct request r = {.nfrags = 2, .total = {.v = {4, 3 * 1048576, 1}}};
	struct charge paid = charge_of(&r, 4);
	struct limit_need need = limit_need_of(&r, 4, 60, &paid, 60);

	assert_int_equal(need.v[credit_measure(CREDIT_CPU)], 240);
	assert_int_equal(credit_limit(&cpu, 1000), 1000);
	assert_int_equal(credit_limit(&dear, 1000), 666);
	assert_int_equal(credit_limit(&gift, 0), -1);
	assert_int_equal(credit_charge(&cpu, &paid, 60, 1), 1);
	assert_int_equal(credit_charge(&cpu, &paid, 60, 10000), 40);
	assert_int_equal(credit_charge(&dear, &paid, 60, 10000), 60);
	assert_int_equal(credit_charge(&cpu, &paid, 60, 1000000), 240);
	assert_int_equal(credit_charge(&memory, &paid, 60, 10000), 30);
	assert_int_equal(credit_charge(&gift, &paid, 60, 10000), 0);
	assert_int_equal(credit_charge(&(struct credit_tariff){CREDIT_NODE, 100}, &paid, 60, 10000), 20);
}

/* Every check is in the functions: deposited == balance + spent + expired + withdrawn. */
static void random_histories_balance(void **state)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct credit c[3] = {0};
		uint64_t next = 1;
		int64_t now = 0, in = 0, out = 0;
		struct rng r;

		rng_seed(&r, seed);
		for (int step = 0; step < 300; step++) {
			struct credit *a = &c[rng_below(&r, 3)], *b = &c[rng_below(&r, 3)];
			int64_t amount = 1 + (int64_t)rng_below(&r, 1000), left = 0;

			now += (int64_t)rng_below(&r, 50);
			switch (rng_below(&r, 5)) {
			case 0:
				deposit(a, next++, amount,
					rng_below(&r, 2) ? TIME_NEVER : now + (int64_t)rng_below(&r, 2000));
				in += amount;
				break;
			case 1:
				out += credit_spend(a, amount);
				break;
			case 2:
				out += credit_withdraw(a, amount);
				break;
			case 3:
				if (a != b)
					credit_transfer(a, b, amount, &next);
				break;
			default:
				out += credit_expire(a, now, (int64_t)rng_below(&r, 300));
			}
			for (int i = 0; i < 3; i++)
				left += credit_balance(&c[i]);
			assert_int_equal(in, left + out);
		}
		for (int i = 0; i < 3; i++)
			credit_fini(&c[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_expires_first_is_spent_first),
		cmocka_unit_test(transfers_keep_their_dates),
		cmocka_unit_test(prices_are_rounded_up_and_never_more_than_held),
		cmocka_unit_test(random_histories_balance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
