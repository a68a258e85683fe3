/*
 * test_bag_graph.c - bags with edges: what waits for what, longest paths, mistakes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bag/graph.h"

static void on_ready(void *context, int task)
{
	int *sum = context;

	*sum += 1 << task;
}

static void paths(void **state)
{
	static const char text[] = "# a comment\n"
				   "#task split time=30\n"
				   "split data\n"
				   "#task left after=split time=5:00\n"
				   "work data.0\n"
				   "#bag mem=1gb\n"
				   "#task after=split arch=x86_64 right\n"
				   "work data.1\n"
				   "#task after=left,right\n"
				   "join\n"
				   "alone\n";
	struct graph g;
	struct err err;
	int sum = 0;

	assert_int_equal(graph_parse(text, strlen(text), &g, &err), 0);
	assert_int_equal(g.n, 5);
	assert_int_equal(g.tasks[0].remaining, 30 + 300 + 1);
	assert_int_equal(g.tasks[1].remaining, 301);
	assert_int_equal(g.tasks[2].remaining, 2);
	assert_string_equal(g.tasks[2].name, "right");
	assert_string_equal(g.tasks[2].arch, "x86_64");
	assert_int_equal(g.tasks[2].memory, 1 << 20);
	assert_string_equal(g.tasks[3].name, "4");
	assert_int_equal(g.tasks[3].waits, 2);
	assert_int_equal(g.tasks[4].remaining, 1);
	graph_done(&g, 0, on_ready, &sum);
	assert_int_equal(sum, 1 << 1 | 1 << 2);
	graph_done(&g, 1, on_ready, &sum);
	assert_int_equal(sum, 1 << 1 | 1 << 2);
	graph_done(&g, 2, on_ready, &sum);
	assert_int_equal(sum, 1 << 1 | 1 << 2 | 1 << 3);
	graph_fini(&g);
}

static void mistakes(void **state)
{
	static const char *const cases[][2] = {
		{"#task a after=b\nx\n#task b after=a\ny\n", "task a waits for itself, through others or directly"},
		{"#task a after=a\nx\n", "task a waits for itself, through others or directly"},
		{"#task a after=c\nx\n", "task a: after=c: no task is called that"},
		{"#task a\nx\n#task a\ny\n", "two tasks are called a"},
		{"x\n#task a\n", "line 2: a command must follow"},
		{"#task cpus=3\nx\n",
		 "line 1: cpus=3: allowed are a name, after=NAMES, time=DURATION, mem=SIZE and arch=NAME"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct graph g;
		struct err err;
		assert_int_equal(graph_parse(cases[i][0], strlen(cases[i][0]), &g, &err), -EINVAL);
		assert_string_equal(err.text, cases[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
