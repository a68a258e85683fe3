/*
 * test_examples.c - the worked examples of docs/scheduling.md, exactly: nodes of 8 CPUs, who is
 * pushed where, and that without push the last job of each waits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/world.h"

static struct world w;

static void open_world(int nodes, int push_depth)
{
	world_init(&w, "oscar");
	w.policy.push_depth = push_depth;
	world_add_nodes(&w, nodes, 8);
	world_open(&w);
}

/* Runs since `at` on this node. */
static void runs(uint32_t job, int node, int64_t at)
{
	assert_string_equal(job_state_name(world_job(&w, job)->state), "running");
	assert_int_equal(world_job(&w, job)->start, at);
	assert_int_equal(world_node(&w, job, 0), node);
	assert_int_equal(world_count(&w, job, EVENT_START), 1);
}

static void waits(uint32_t job)
{
	assert_string_equal(job_state_name(world_job(&w, job)->state), "candidate");
	assert_int_equal(world_node(&w, job, 0), 0);
}

struct wanted {
	const char *request;
	int64_t walltime;
};

/* Two nodes, four jobs: two go to n1 and the third to n2; the fourth fits if the second is
 * pushed to n2. */
static void second_is_pushed(int depth, const struct wanted wanted[4])
{
	uint32_t job[4];

	open_world(2, depth);
	for (int i = 0; i < 4; i++)
		job[i] = world_common(&w, 0, wanted[i].request, wanted[i].walltime);
	world_cycle(&w, 0);
	runs(job[0], 1, 0);
	runs(job[1], depth ? 2 : 1, 0);
	runs(job[2], 2, 0);
	if (depth)
		runs(job[3], 1, 0);
	else
		waits(job[3]);
	assert_int_equal(w.p->moves, depth ? 1 : 0);
	assert_int_equal(sched_stats(w.s)->rescued, depth ? 1 : 0);
	world_fini(&w);
}

static void example_1(int depth)
{
	static const struct wanted wanted[] = {
		{"nodes=1:ppn=2", 100}, {"nodes=1:ppn=3", 150}, {"nodes=1:ppn=5", 200}, {"nodes=1:ppn=6", 250}};

	second_is_pushed(depth, wanted);
}

static void example_2(int depth)
{
	static const struct wanted wanted[] = {
		{"nodes=1:ppn=2", 200}, {"nodes=1:ppn=2", 200}, {"nodes=1:ppn=6", 280}, {"nodes=1:ppn=6", 280}};

	second_is_pushed(depth, wanted);
}

static void example_3(int depth)
{
	open_world(2, depth);
	uint32_t i = world_common(&w, 0, "nodes=n1:ppn=3", 150), j = world_common(&w, 0, "nodes=n2:ppn=6", 100);
	world_cycle(&w, 0);
	runs(i, 1, 0);
	runs(j, 2, 0);

	uint32_t k = world_submit(&w, 0, KIND_QOS, "nodes=1:ppn=7", 100, 290, 0);
	world_cycle(&w, 0);
	assert_int_equal(world_job(&w, k)->state, STATE_ALLOCATED);
	assert_int_equal(world_job(&w, k)->start, 190);
	assert_int_equal(world_node(&w, k, 0), 1);
	assert_true(world_job(&w, k)->guaranteed);

	uint32_t l = world_common(&w, 0, "nodes=1:ppn=4", 250);
	world_cycle(&w, 0);
	assert_int_equal(world_job(&w, k)->state, STATE_ALLOCATED);
	assert_int_equal(world_job(&w, k)->start, 190); /* pushed between nodes, never in time */
	assert_int_equal(world_node(&w, k, 0), depth ? 2 : 1);
	if (depth) {
		runs(l, 1, 0);
		assert_int_equal(world_last(&w, k, EVENT_ALLOCATE)->by, l); /* the log says for whom */
		assert_int_equal(world_last(&w, k, EVENT_ALLOCATE)->at, 190);
	} else {
		waits(l);
	}
	world_fini(&w);
}

static void example_4(int depth)
{
	open_world(3, depth);
	uint32_t m = world_common(&w, 0, "nodes=n1:ppn=5", 150), n = world_common(&w, 0, "nodes=n2:ppn=3", 250),
		 o = world_common(&w, 0, "nodes=n3:ppn=6", 50);
	world_cycle(&w, 0);
	runs(m, 1, 0);
	runs(n, 2, 0);
	runs(o, 3, 0);

	uint32_t p = world_common(&w, 0, "nodes=2:ppn=2", 200), q = world_common(&w, 0, "nodes=2:ppn=3", 220);
	world_cycle(&w, 0);
	runs(p, depth ? 3 : 1, 0); /* its first fragment is the one that Q pushed */
	assert_int_equal(world_node(&w, p, 1), 2);
	if (depth) {
		runs(q, 2, 0);
		assert_int_equal(world_node(&w, q, 1), 1);
	} else {
		waits(q);
	}
	world_fini(&w);
}

#define EXAMPLE(n)                                                                                                     \
	static void test_example_##n(void **state)                                                                     \
	{                                                                                                              \
		(void)state;                                                                                           \
		example_##n(1);                                                                                        \
	}                                                                                                              \
	static void test_example_##n##_deeper(void **state)                                                            \
	{                                                                                                              \
		(void)state;                                                                                           \
		example_##n(3); /* deeper chains are for what one push can't do */                                     \
	}                                                                                                              \
	static void test_example_##n##_without_push(void **state)                                                      \
	{                                                                                                              \
		(void)state;                                                                                           \
		example_##n(0);                                                                                        \
	}
EXAMPLE(1)
EXAMPLE(2)
EXAMPLE(3)
EXAMPLE(4)

/* A job whose fragments fit two empty nodes in one way only starts, and the job behind it is
 * served. */
static void fits_in_one_way(const char *policy, const char *request)
{
	world_init(&w, policy);
	world_add_nodes(&w, 2, 8);
	world_open(&w);
	uint32_t job = world_common(&w, 0, request, 100);
	world_cycle(&w, 0);
	assert_int_equal(world_job(&w, job)->state, STATE_RUNNING);
	uint32_t behind = world_common(&w, 0, "nodes=2:ppn=8", 50);
	world_cycle(&w, 0);
	sched_finish(w.s, job, 100, NULL);
	world_cycle(&w, 100);
	assert_int_equal(world_job(&w, behind)->state, STATE_RUNNING);
	world_fini(&w);
}

static void test_one_way(void **state)
{
	static const char *const policy[] = {"shunt", "fcfs", "easy", "conservative", "oscar"};

	(void)state;
	for (size_t i = 0; i < sizeof policy / sizeof *policy; i++) {
		fits_in_one_way(policy[i], "nodes=n2:ppn=3+2:ppn=2+1:ppn=3+1:ppn=6");
		fits_in_one_way(policy[i], "nodes=n1:ppn=4+1:ppn=3+1:ppn=6+1:ppn=2");
	}
}

/* The same with the power to remove what runs there. */
static void test_one_way_by_power(void **state)
{
	(void)state;
	world_init(&w, "shunt");
	world_add_nodes(&w, 2, 8);
	world_open(&w);
	uint32_t a = world_common(&w, 0, "nodes=1:ppn=8", 1000), b = world_common(&w, 0, "nodes=1:ppn=8", 1000);
	world_cycle(&w, 0);
	uint32_t job =
		world_submit(&w, 0, KIND_EMERGENCY, "nodes=n2:ppn=3+2:ppn=2+1:ppn=3+1:ppn=6", 100, 100, POWER_C_EXEC);
	world_cycle(&w, 0);
	assert_int_equal(world_job(&w, job)->state, STATE_RUNNING);
	assert_int_equal(world_job(&w, a)->state, STATE_CANDIDATE);
	assert_int_equal(world_job(&w, b)->state, STATE_CANDIDATE);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example_1),
		cmocka_unit_test(test_example_1_deeper),
		cmocka_unit_test(test_example_1_without_push),
		cmocka_unit_test(test_example_2),
		cmocka_unit_test(test_example_2_deeper),
		cmocka_unit_test(test_example_2_without_push),
		cmocka_unit_test(test_example_3),
		cmocka_unit_test(test_example_3_deeper),
		cmocka_unit_test(test_example_3_without_push),
		cmocka_unit_test(test_example_4),
		cmocka_unit_test(test_example_4_deeper),
		cmocka_unit_test(test_example_4_without_push),
		cmocka_unit_test(test_one_way),
		cmocka_unit_test(test_one_way_by_power),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
