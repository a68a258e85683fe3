/*
 * test_reader.c - queries beside the server: users take turns, and one can't take all places.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <uv.h>

#include <cmocka.h>

#include "server/base/reader.h"
#include "server/server.h"
#include "support/site.h"

#define NOW INT64_C(1800000000)
#define QUERIES 60

static uid_t order[2 * QUERIES];
static size_t n;

static int setup(void **state)
{
	n = 0;
	return site_setup(state, "n1:cpus=4", NOW);
}

static int nothing(struct read_work *w, struct store *store)
{
	return 0;
}

static void done(struct read_work *w)
{
	order[n++] = w->user;
}

/* Queues as many queries as are taken; returns their number. */
static size_t add(struct site *f, struct read_work *w, uid_t user)
{
	size_t taken = 0;

	for (int i = 0; i < QUERIES; i++) {
		w[i] = (struct read_work){.read = nothing, .done = done};
		taken += reader_add(f->s, LANE_LONG, user, &w[i]);
	}
	return taken;
}

static void users_take_turns(void **state)
{
	struct site *f = *state;
	struct read_work of_one[QUERIES], of_another[QUERIES], own = {.read = nothing, .done = done};

	size_t first = add(f, of_one, 1000);
	assert_true(first > 10 && first < QUERIES);
	size_t second = add(f, of_another, 1001);
	assert_true(second > 10 && second < QUERIES);
	assert_true(reader_add(f->s, LANE_LONG, 1002, &own));
	assert_false(reader_add(f->s, LANE_LONG, 1000, &(struct read_work){0}));
	while (n < first + second + 1)
		uv_run(f->s->loop, UV_RUN_ONCE);
	assert_true(order[0] == 1000 && order[1] == 1001 && order[2] == 1002);
	for (size_t i = 3; i < n; i++)
		assert_true(order[i] == (i % 2 ? 1000 : 1001) || i > 2 * second);
}

/* Someone who comes last waits for one query of each of the others, not for all. */
static void the_last_waits_for_one(void **state)
{
	struct site *f = *state;
	struct read_work of_one[QUERIES], own = {.read = nothing, .done = done};

	size_t first = add(f, of_one, 1000);
	assert_true(reader_add(f->s, LANE_LONG, 1001, &own));
	while (n < first + 1)
		uv_run(f->s->loop, UV_RUN_ONCE);
	assert_int_equal(order[1], 1001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(users_take_turns, setup, site_teardown),
		cmocka_unit_test_setup_teardown(the_last_waits_for_one, setup, site_teardown)};

	return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
