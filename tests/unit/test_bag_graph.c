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
#include "base/strbuf.h"

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

/* Words as long as they may be, a chain of many, needs of the bag as defaults, ends of lines as on
 * other systems. */
static void words(void **state)
{
	static const char text[] = "#tasks are no words\n#bag time=7 mem=3kb\none\r\n#task\ttime=0\r\ntwo\n"
				   "#task time=2147483646 after=1,2\n#task mem=5kb\nthree";
	char longest[GRAPH_NAME_SIZE + 200];
	struct strbuf chain = {0};
	struct graph g;
	struct err err;

	assert_int_equal(graph_parse(text, strlen(text), &g, &err), 0);
	assert_int_equal(g.n, 3);
	assert_int_equal(g.tasks[0].seconds, 7);
	assert_int_equal(g.tasks[0].memory, 3);
	assert_int_equal(g.tasks[1].seconds, 0);
	assert_int_equal(g.tasks[2].seconds, INT32_MAX - 1);
	assert_int_equal(g.tasks[2].memory, 5);
	assert_int_equal(g.tasks[2].waits, 2);
	assert_int_equal(g.tasks[0].remaining, INT64_C(7) + INT32_MAX - 1);
	graph_fini(&g);
	snprintf(longest, sizeof longest, "#task %0*d\nx\n", GRAPH_NAME_SIZE - 1, 5);
	assert_int_equal(graph_parse(longest, strlen(longest), &g, &err), 0);
	assert_int_equal(strlen(g.tasks[0].name), GRAPH_NAME_SIZE - 1);
	graph_fini(&g);
	for (int i = 99; i >= 0; i--)
		strbuf_printf(&chain, i ? "#task t%d after=t%d\nx\n" : "#task t0\nx\n", i, i - 1);
	assert_int_equal(graph_parse(chain.text, chain.n, &g, &err), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(g.tasks[i].remaining, i + 1);
	graph_fini(&g);
	strbuf_fini(&chain);
}

static void mistakes(void **state)
{
	static const char *const cases[][2] = {
		{"#task a after=b\nx\n#task b after=a\ny\n", "task a waits for itself, through others or directly"},
		{"#task a after=a\nx\n", "task a waits for itself, through others or directly"},
		{"#task a after=c\nx\n", "task a: after=c: there is no such task"},
		{"#task a\nx\n#task a\ny\n", "two tasks are called a"},
		{"x\n#task a\n", "line 2: a command must follow"},
		{"#task cpus=3\nx\n",
		 "line 1: cpus=3: allowed are a name, after=NAMES, time=DURATION, mem=SIZE and arch=NAME"},
		{"a\n#task time=2147483647\nx\n",
		 "line 2: time=2147483647: allowed are a name, after=NAMES, time=DURATION, mem=SIZE and arch=NAME"},
		{"#task arch=\nx\n",
		 "line 1: arch=: allowed are a name, after=NAMES, time=DURATION, mem=SIZE and arch=NAME"},
		{"#task afte=a\nx\n",
		 "line 1: afte=a: allowed are a name, after=NAMES, time=DURATION, mem=SIZE and arch=NAME"},
		{"#task a b\nx\n", "line 1: a task has one name, of at most 63 characters and without a comma"},
		{"#task a,b\nx\n", "line 1: a task has one name, of at most 63 characters and without a comma"},
		{"#task a\nx\n#task b after=a,,a\ny\n", "task b: after=: there is no such task"},
		{"#task a\nx\n#task after=a\ny\n#task c after=d\nz\n#task d after=c\nz\n",
		 "task c waits for itself, through others or directly"},
	};
	static const char *const long_words[] = {"#task %0200d\nx\n", "#task mem=%0128d\nx\n", "#task %064d\nx\n",
						 "#task arch=%0100d\nx\n"};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct graph g;
		struct err err;
		assert_int_equal(graph_parse(cases[i][0], strlen(cases[i][0]), &g, &err), -EINVAL);
		assert_string_equal(err.text, cases[i][1]);
	}
	for (size_t i = 0; i < sizeof long_words / sizeof *long_words; i++) {
		char text[256];
		struct graph g;
		struct err err;
		snprintf(text, sizeof text, long_words[i], 7);
		assert_int_equal(graph_parse(text, strlen(text), &g, &err), -EINVAL);
		assert_non_null(strstr(err.text, i < 2	  ? "line 1: a word is too long"
						 : i == 2 ? "of at most 63 characters"
							  : "allowed are"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(words),
		cmocka_unit_test(mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
