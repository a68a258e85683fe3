/*
 * test_push.c - making room by pushing others: what a search remembers of dead ends is true when it
 * is asked again.
 *
 * Features say where a fragment may go, and all are planned for one interval.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/insert.h"
#include "sim/machine.h"

enum { FROM = 10, UNTIL = 20 };

struct bench {
	struct cluster *c;
	struct plan *p;
};

static struct bench bench_open(const char *nodes)
{
	struct bench b = {.c = cluster_create()};
	struct err err;

	if (machine_build(b.c, nodes, &err) != 0)
		fail_msg("%s", err.text);
	b.p = plan_create(b.c);
	plan_advance(b.p, 0);
	return b;
}

static void bench_close(struct bench *b)
{
	plan_check(b->p);
	plan_destroy(b->p);
	cluster_destroy(b->c);
}

static uint32_t job_of(struct bench *b, const char *resources)
{
	struct job *job = cluster_add_job(b->c);
	struct arena *a = arena_create();
	struct reqtext text = {0};
	struct err err;

	if (reqtext_parse(&text, resources, a, &err) < 0 || cluster_request(b->c, &text, &job->request, &err) < 0)
		fail_msg("%s: %s", resources, err.text);
	arena_destroy(a);
	return job->id;
}

/* A job, and where its fragment is. */
static void put(struct bench *b, const char *resources, int32_t node)
{
	uint32_t job = job_of(b, resources);

	plan_put(b->p, job, 0, node, FROM, UNTIL);
}

/* On node a the first fragment can be pushed, two deep, which fills node d, so that the other
 * one has nowhere to go; all of that is undone. Then node d is free again, for those of node c.
 * Before, node z was a dead end as well. */
static void undone_deep_push(void **state)
{
	(void)state;
	enum { Z, A, B, C, D };
	struct bench b = bench_open(
		"node z cpus=4 features=goal,fz\nnode a cpus=4 features=goal,fx,fw\n"
		"node b cpus=4 features=fx,fy\nnode c cpus=4 features=goal,fw\nnode d cpus=4 features=fy,fw");
	struct manner m = {.push_depth = 2};
	uint32_t goal;

	put(&b, "nodes=1:ppn=4:fz", Z);
	put(&b, "nodes=1:ppn=3:fx", A);
	put(&b, "nodes=1:ppn=1:fw", A);
	put(&b, "nodes=1:ppn=4:fy", B);
	for (int i = 0; i < 4; i++)
		put(&b, "nodes=1:ppn=1:fw", C);
	goal = job_of(&b, "nodes=1:ppn=4:goal");
	assert_true(plan_insert(b.p, &m, goal, FROM, UNTIL));
	assert_int_equal(plan_place(b.p, goal, 0)->node, C);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(undone_deep_push),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
