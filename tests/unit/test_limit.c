/*
 * test_limit.c - limits on running jobs: counters, classes, lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/vec.h"
#include "rules/limit.h"

typedef VEC(uint32_t) left_vec;

static bool leave(void *context, uint32_t job)
{
	left_vec *v = context;

	if (job >= 1000) /* gone meanwhile */
		return false;
	vec_push(v, job);
	return true;
}

static uint32_t class_of(struct limits *l, uint32_t user, uint32_t queue, uint64_t array)
{
	return limits_class(l, &(struct limit_party){user, queue, array});
}

static void no_limit_is_any_number(void **state)
{
	struct limits *l = limits_create();

	assert_int_equal(limits_room(l, LIMITS_NONE), INT64_MAX);
	assert_int_equal(limits_room(l, class_of(l, 1, 1, 0)), INT64_MAX);
	limits_destroy(l);
}

static void every_limit_counts_its_own(void **state)
{
	struct limits *l = limits_create();
	uint32_t a = class_of(l, 1, 1, 0), b = class_of(l, 2, 1, 0), c = class_of(l, 1, 2, 0), d = class_of(l, 1, 1, 7);
	enum limit_kind kind;
	int64_t most;

	limits_set(l, LIMIT_USER, 0, 2);
	limits_set(l, LIMIT_QUEUE, 1, 3);
	limits_set(l, LIMIT_ARRAY, 7, 1);
	limits_count(l, d, 1);
	assert_int_equal(limits_room(l, d), 0);
	assert_true(limits_reached(l, d, &kind, &most));
	assert_int_equal(kind, LIMIT_ARRAY);
	assert_int_equal(most, 1);
	assert_int_equal(limits_room(l, a), 1);
	limits_count(l, c, 1);
	assert_int_equal(limits_room(l, a), 0);
	assert_int_equal(limits_room(l, b), 2);
	limits_count(l, d, -1);
	assert_int_equal(limits_room(l, a), 1);
	assert_false(limits_reached(l, a, &kind, &most));
	limits_destroy(l);
}

/* A new class counts with those that were there. */
static void a_limit_holds_for_classes_to_come(void **state)
{
	struct limits *l = limits_create();

	limits_set(l, LIMIT_QUEUE_USER, 4, 1);
	limits_count(l, class_of(l, 9, 4, 0), 1);
	assert_int_equal(limits_room(l, class_of(l, 9, 4, 12)), 0);
	assert_int_equal(limits_room(l, class_of(l, 8, 4, 0)), 1);
	limits_destroy(l);
}

/* As many leave each line as may start, by rank; a line of another shape is not kept by the first. */
static void lines_do_not_wait_for_each_other(void **state)
{
	struct limits *l = limits_create();
	uint32_t a = class_of(l, 1, 0, 0);
	left_vec v = {0};

	limits_set(l, LIMIT_ALL, 0, 1);
	limits_count(l, a, 1);
	limits_wait(l, a, 1, 30, 3);
	limits_wait(l, a, 1, 10, 1);
	limits_wait(l, a, 1, 5, 1000);
	limits_wait(l, a, 2, 20, 2);
	limits_offer(l, leave, &v);
	assert_int_equal(v.n, 0);
	limits_count(l, a, -1);
	limits_offer(l, leave, &v);
	assert_int_equal(v.n, 2);
	assert_int_equal(v.v[0] + v.v[1], 3);
	limits_offer(l, leave, &v); /* nothing has changed */
	assert_int_equal(v.n, 2);
	limits_set(l, LIMIT_ALL, 0, -1);
	limits_offer(l, leave, &v);
	assert_int_equal(v.n, 3);
	vec_free(&v);
	limits_destroy(l);
}

static void a_clone_goes_on_by_itself(void **state)
{
	struct limits *l = limits_create(), *t;
	uint32_t a = class_of(l, 1, 0, 5);
	left_vec v = {0};

	limits_set(l, LIMIT_ARRAY, 5, 1);
	limits_count(l, a, 1);
	limits_wait(l, a, 0, 1, 1);
	t = limits_clone(l);
	limits_count(t, a, -1);
	limits_offer(t, leave, &v);
	assert_int_equal(v.n, 1);
	assert_int_equal(limits_room(l, a), 0);
	limits_offer(l, leave, &v);
	assert_int_equal(v.n, 1);
	vec_free(&v);
	limits_destroy(t);
	limits_destroy(l);
}

/* Millions of arrays come and go. */
static void what_is_dropped_is_used_again(void **state)
{
	struct limits *l = limits_create();
	uint32_t first = class_of(l, 1, 1, 1);

	for (uint64_t n = 1; n < 1000; n++) {
		struct limit_party p = {1, 1, n};
		limits_set(l, LIMIT_ARRAY, n, 2);
		assert_int_equal(limits_class(l, &p), first);
		assert_int_equal(limits_room(l, first), 2);
		limits_drop_array(l, &p);
		class_of(l, 1, 1, n + 1);
	}
	limits_destroy(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_limit_is_any_number),
		cmocka_unit_test(every_limit_counts_its_own),
		cmocka_unit_test(a_limit_holds_for_classes_to_come),
		cmocka_unit_test(lines_do_not_wait_for_each_other),
		cmocka_unit_test(a_clone_goes_on_by_itself),
		cmocka_unit_test(what_is_dropped_is_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
