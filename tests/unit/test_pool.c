/*
 * test_pool.c - tasks in child processes: results, failures and crashes are the same on any number
 * of them.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sim/pool.h"

#define TASKS 40

struct context {
	int fail_from; /* this task and later ones fail */
	int crash;     /* this one is killed */
	int leave;     /* this one leaves its process */
	int *shared;   /* by task */
};

static int work(void *context, int task, void *ret, struct err *err)
{
	const struct context *c = context;
	int *result = ret;

	assert_int_equal(*result, 0);
	pool_step(5);
	if (task == c->crash)
		raise(SIGKILL);
	if (task == c->leave)
		_exit(3);
	if (task >= c->fail_from)
		return err_set(err, -EDOM, "number %d will not do", task);
	*result = task * task;
	if (c->shared)
		c->shared[task] = task + 1;
	return 0;
}

static void name(void *context, int task, char *buf, size_t size)
{
	snprintf(buf, size, "task %d", task);
}

static struct pool_tasks tasks_of(struct context *c, int workers)
{
	return (struct pool_tasks){
		.work = work,
		.context = c,
		.n = TASKS,
		.size = sizeof(int),
		.name = name,
		.steps = 10,
		.workers = workers,
		.what = "testing",
	};
}

#define ALL_WELL                                                                                                       \
	{                                                                                                              \
		.fail_from = TASKS, .crash = -1, .leave = -1                                                           \
	}

static void results_in_order(void **state)
{
	static const int workers[] = {0, 1, 2, 3, 100};

	(void)state;
	for (size_t k = 0; k < sizeof workers / sizeof *workers; k++) {
		struct context c = ALL_WELL;
		struct err err;
		void *results;
		c.shared = pool_alloc(TASKS, sizeof *c.shared);
		struct pool_tasks t = tasks_of(&c, workers[k]);
		assert_int_equal(pool_run_tasks(&t, &results, &err), 0);
		for (int i = 0; i < TASKS; i++) {
			assert_int_equal(((int *)results)[i], i * i);
			assert_int_equal(c.shared[i], i + 1);
		}
		pool_free(results, TASKS, sizeof(int));
		pool_free(c.shared, TASKS, sizeof *c.shared);
	}
}

static void no_tasks(void **state)
{
	(void)state;
	struct context c = ALL_WELL;
	struct err err;
	void *results;

	assert_int_equal(pool_run(work, &c, 0, sizeof(int), 2, NULL, &results, &err), 0);
	pool_free(results, 0, sizeof(int));
}

static void fails_with(struct context *c, int workers, int code, const char *text)
{
	struct pool_tasks t = tasks_of(c, workers);
	void *results = &t;
	struct err err;

	assert_int_equal(pool_run_tasks(&t, &results, &err), code);
	assert_null(results);
	assert_string_equal(err.text, text);
}

/* Several fail at a time: the lowest is always reported. */
static void lowest_failure_is_told(void **state)
{
	(void)state;
	for (int workers = 1; workers <= 4; workers++) {
		struct context c = ALL_WELL;
		c.fail_from = 17;
		fails_with(&c, workers, -EDOM, "task 17: number 17 will not do");
	}
}

static void crashes_are_named(void **state)
{
	(void)state;
	for (int workers = 2; workers <= 4; workers++) {
		struct context c = ALL_WELL;
		c.crash = 11;
		fails_with(&c, workers, -EFAULT, "task 11: ended by signal 9 (Killed)");
		c.crash = -1;
		c.leave = 0;
		fails_with(&c, workers, -EFAULT, "task 0: stopped with code 3");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_in_order),
		cmocka_unit_test(no_tasks),
		cmocka_unit_test(lowest_failure_is_told),
		cmocka_unit_test(crashes_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
