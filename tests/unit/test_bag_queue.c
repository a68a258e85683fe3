/*
 * test_bag_queue.c - which task runs next, and what becomes of its results.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bag/queue.h"

static struct bag bag;

static struct queue *made(const char *text, struct queue_rules rules)
{
	struct err err;

	assert_int_equal(bag_parse(text, strlen(text), &bag, &err), 0);
	return queue_create(&bag, &rules);
}

static void done(struct queue *q)
{
	queue_check(q);
	queue_destroy(q);
	bag_fini(&bag);
}

static struct offer room(int worker, int64_t cpus, int64_t all)
{
	return (struct offer){
		.cpus = cpus * BAG_CPU, .all_cpus = all * BAG_CPU, .memory = -1, .seconds = -1, .worker = worker};
}

static const struct queue_rules plain = {.attempts = 2, .losses = 2, .replicas = 1, .agree = 1};

static void retries(void **state)
{
	(void)state;
	struct queue *q = made("a\nb\nc\n", plain);
	struct offer o = room(0, 1, 1);

	assert_int_equal(queue_take(q, &o), 1);
	assert_int_equal(queue_result(q, 1, 0, false, 0), VERDICT_AGAIN);
	assert_int_equal(queue_take(q, &o), 2); /* behind the others */
	assert_int_equal(queue_result(q, 2, 0, true, 0), VERDICT_DONE);
	assert_int_equal(queue_take(q, &o), 3);
	assert_int_equal(queue_lost(q, 3, 0), VERDICT_AGAIN);
	assert_int_equal(queue_take(q, &o), 1);
	assert_int_equal(queue_result(q, 1, 0, false, 0), VERDICT_ASIDE);
	assert_int_equal(queue_take(q, &o), 3);
	assert_int_equal(queue_lost(q, 3, 0), VERDICT_ASIDE); /* it takes its workers with it */
	assert_int_equal(queue_take(q, &o), 0);
	assert_int_equal(queue_retry(q), 2);
	assert_int_equal(queue_take(q, &o), 1);
	queue_return(q, 1, 0);
	assert_int_equal(queue_take(q, &o), 1);
	done(q);
}

static void restored(void **state)
{
	(void)state;
	struct queue *q = made("a\nb\nc\nd\n", plain);
	struct offer o = room(0, 1, 1);

	queue_restore(q, 1, TASK_DONE, 0);
	queue_restore(q, 3, TASK_ASIDE, 2);
	queue_restore(q, 4, TASK_WAITING, 1);
	assert_int_equal(queue_take(q, &o), 2);
	assert_int_equal(queue_take(q, &o), 4);
	assert_int_equal(queue_result(q, 4, 0, false, 0), VERDICT_ASIDE);
	assert_int_equal(queue_counts(q).aside, 2);
	done(q);
}

static void copies(void **state)
{
	(void)state;
	struct queue *q = made("a\n", (struct queue_rules){.attempts = 1, .losses = 2, .replicas = 2, .agree = 1});
	struct offer o = room(0, 1, 1), other = room(1, 1, 1), third = room(2, 1, 1);

	assert_int_equal(queue_take(q, &o), 1);
	assert_true(queue_copy(q, 1, &other));
	assert_false(queue_copy(q, 1, &third));
	assert_int_equal(queue_lost(q, 1, 0), VERDICT_AGAIN);
	assert_int_equal(queue_take(q, &o), 0); /* the copy is in flight */
	assert_int_equal(queue_result(q, 1, 1, true, 0), VERDICT_DONE);
	done(q);
	q = made("a\n", (struct queue_rules){.attempts = 1, .losses = 2, .replicas = 2, .agree = 1});
	assert_int_equal(queue_take(q, &o), 1);
	assert_true(queue_copy(q, 1, &other));
	assert_int_equal(queue_result(q, 1, 0, true, 0), VERDICT_DONE);
	assert_int_equal(queue_result(q, 1, 1, true, 0), VERDICT_IGNORE);
	done(q);
}

static void agreement(void **state)
{
	(void)state;
	struct queue *q = made("a\nb\n", (struct queue_rules){.attempts = 1, .losses = 2, .replicas = 1, .agree = 2});
	struct offer o = room(0, 1, 1), other = room(1, 1, 1), third = room(2, 1, 1);

	assert_int_equal(queue_take(q, &o), 1);
	assert_int_equal(queue_result(q, 1, 0, true, 11), VERDICT_AGAIN);
	assert_int_equal(queue_take(q, &o), 2); /* not the same worker twice */
	assert_int_equal(queue_take(q, &o), 0);
	assert_int_equal(queue_take(q, &other), 1);
	assert_int_equal(queue_result(q, 1, 1, true, 12), VERDICT_AGAIN);
	assert_int_equal(queue_take(q, &third), 1);
	assert_int_equal(queue_result(q, 1, 2, true, 11), VERDICT_DONE);
	assert_int_equal(queue_result(q, 2, 0, true, 1), VERDICT_AGAIN);
	o.repeats = true; /* it is the only one left */
	for (uint64_t i = 2; i <= 5; i++) {
		assert_int_equal(queue_take(q, &o), 2);
		assert_int_equal(queue_result(q, 2, 0, true, i), i < 5 ? VERDICT_AGAIN : VERDICT_ASIDE);
	}
	done(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(retries),
		cmocka_unit_test(restored),
		cmocka_unit_test(copies),
		cmocka_unit_test(agreement),
	};
	return cmocka_run_group_tests_name("bag_queue", tests, NULL, NULL);
}
