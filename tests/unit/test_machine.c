/*
 * test_machine.c - the text of a machine into nodes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/machine.h"
#include "sim/workload.h"

static struct cluster *built(const char *text)
{
	struct cluster *c = cluster_create();
	struct err err;

	if (machine_build(c, text, &err) != 0)
		fail_msg("%s", err.text);
	return c;
}

static void node_is(const struct cluster *c, size_t i, const char *name, int64_t cpus)
{
	assert_true(i < c->nodes.n);
	assert_string_equal(names_get(&c->node_names, c->nodes.v[i].name), name);
	assert_int_equal(c->nodes.v[i].total.v[RES_CPU], cpus);
}

static void one_pool(void **state)
{
	(void)state;
	struct cluster *c = built("flat:338");

	assert_int_equal(c->nodes.n, 1);
	node_is(c, 0, "n1", 338);
	cluster_destroy(c);
}

static void nodes_of_one_kind(void **state)
{
	(void)state;
	struct cluster *c = built("nodes:40x8");

	assert_int_equal(c->nodes.n, 40);
	assert_int_equal(c->total.v[RES_CPU], 320);
	node_is(c, 0, "n1", 8);
	node_is(c, 39, "n40", 8);
	cluster_destroy(c);
}

static void nodes_of_several_kinds(void **state)
{
	(void)state;
	struct cluster *c = built("nodes:40x8+2x64+1x1");

	assert_int_equal(c->nodes.n, 43);
	assert_int_equal(c->total.v[RES_CPU], 320 + 128 + 1);
	node_is(c, 39, "n40", 8);
	node_is(c, 40, "n41", 64);
	node_is(c, 41, "n42", 64);
	node_is(c, 42, "n43", 1);
	cluster_destroy(c);
}

/* What a workload says of its machine is measured by the same reader. */
static void workloads_measure_alike(void **state)
{
	(void)state;
	struct workload *w = workload_create("test");
	struct err err;

	assert_int_equal(workload_set_machine(w, "nodes:40x8+2x64", &err), 0);
	assert_string_equal(w->machine, "nodes:40x8+2x64");
	assert_int_equal(w->nodes, 42);
	assert_int_equal(w->procs, 448);
	assert_int_equal(workload_set_machine(w, "flat:338", &err), 0);
	assert_int_equal(w->nodes, 0);
	assert_int_equal(w->procs, 338);
	assert_int_equal(workload_set_machine(w, "nodes.txt", &err), -EINVAL);
	assert_string_equal(w->machine, "flat:338");
	workload_destroy(w);
}

static void mistakes(void **state)
{
	static const char *const texts[] = {
		"flat:",
		"flat:0",
		"flat:8x",
		"flat:-1",
		"flat:100000001",
		"flat:99999999999999999999",
		"nodes:",
		"nodes:4",
		"nodes:4x",
		"nodes:x8",
		"nodes:0x8",
		"nodes:4x8+",
		"nodes:4x8+2",
		"nodes:4x8+2x",
		"nodes:4x8+2x0",
		"nodes:4x8++2x8",
		"nodes:4x8 2x8",
		"nodes:+4x8",
		"nodes:1000001x1",
		"nodes:999999x1+2x1",
		"nodes:2x50000001",
		"nodes:100000000x100000000",
		"parts:",
		"parts:8,",
		"parts:0",
		"parts:8,,8",
		"parts:8 8",
		"parts:8x1",
		"parts:1000000,1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct cluster *c = cluster_create();
		struct err err;
		if (machine_build(c, texts[i], &err) != -EINVAL || strncmp(err.text, texts[i], strlen(texts[i])) != 0 ||
		    !strstr(err.text, "use nodes:NxC"))
			fail_msg("%s: %s", texts[i], err.text);
		assert_int_equal(c->nodes.n, 0);
		cluster_destroy(c);
	}
}

static char *file_with(const char *text, char path[32])
{
	strcpy(path, "/tmp/test_machine.XXXXXX");
	FILE *f = fdopen(mkstemp(path), "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return path;
}

static void file_of_nodes(void **state)
{
	(void)state;
	char path[32];
	struct cluster *c = built(file_with("# two kinds\n"
					    "node n[1-2] cpus=8 mem=16gb disk=1tb swap=4gb features=old,small\n"
					    "\n"
					    "node big cpus=64 gpus=2 licence=3\n",
					    path));

	unlink(path);
	assert_int_equal(c->nodes.n, 3);
	node_is(c, 1, "n2", 8);
	node_is(c, 2, "big", 64);
	assert_int_equal(c->nodes.v[1].total.v[RES_GPU], 0);
	assert_int_equal(c->nodes.v[1].total.v[RES_DISK], INT64_C(1) << 30);
	assert_int_equal(c->nodes.v[1].total.v[RES_SWAP], 4 << 20);
	assert_int_equal(c->nodes.v[2].total.v[RES_GPU], 2);
	assert_true(c->nodes.v[0].features != 0);
	assert_int_equal(c->nodes.v[2].features, 0);
	cluster_destroy(c);
}

static void file_with_mistakes(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"# nothing\n", "no node line"},
		{"host n1 cpus=8\n", "line 1: host: expected \"node"},
		{"node n1 cpus=8\nnode\n", "line 2: node: expected names"},
		{"node n1\n", "needs cpus=N"},
		{"node n1 cpus\n", "expected name=value"},
		{"node n1 cpus=8x\n", "whole number"},
	};
	char path[32];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cluster *c = cluster_create();
		struct err err;
		int rc = machine_build(c, file_with(cases[i].text, path), &err);
		unlink(path);
		if (rc != -EINVAL || !strstr(err.text, cases[i].why))
			fail_msg("\"%s\": %s", cases[i].text, err.text);
		cluster_destroy(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_pool),
		cmocka_unit_test(nodes_of_one_kind),
		cmocka_unit_test(nodes_of_several_kinds),
		cmocka_unit_test(workloads_measure_alike),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(file_of_nodes),
		cmocka_unit_test(file_with_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
