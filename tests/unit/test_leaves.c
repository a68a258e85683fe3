/*
 * test_leaves.c - nodes that leave at a known time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/booking.h"
#include "sched/explain.h"
#include "sched/forecast.h"
#include "sched/policy.h"
#include "support/world.h"

static struct world w;

static void open_world(const char *policy, int nodes)
{
	world_init(&w, policy);
	world_add_nodes(&w, nodes, 8);
	world_open(&w);
}

static void is(uint32_t job, enum job_state state)
{
	assert_string_equal(job_state_name(world_job(&w, job)->state), job_state_name(state));
}

static void because(uint32_t job, enum why why, const char *text)
{
	world_because(&w, job, why, text);
}

static void under(const char *policy)
{
	open_world(policy, 2);
	sched_leaves(w.s, 0, 100, 0);
	plan_check(w.p);

	uint32_t wide = world_common(&w, 0, "nodes=1:ppn=8", 200), next = world_common(&w, 0, "nodes=1:ppn=8", 200);

	world_cycle(&w, 0);
	is(wide, STATE_RUNNING);
	assert_int_equal(world_node(&w, wide, 0), 2);
	is(next, STATE_CANDIDATE);
	because(next, WHY_LEAVES,
		"node n1 goes out of service in 1m 40s, before the job would end; with a walltime of 1m 40s or less it would start now");

	uint32_t quick = world_common(&w, 1, "nodes=1:ppn=8", 99);

	world_cycle(&w, 1);
	is(quick, STATE_RUNNING);
	assert_int_equal(world_node(&w, quick, 0), 1);
	sched_finish(w.s, quick, 50, NULL);
	world_cycle(&w, 50);
	is(next, STATE_CANDIDATE);
	sched_leaves(w.s, 0, TIME_NEVER, 60); /* it stays after all */
	world_cycle(&w, 60);
	is(next, STATE_RUNNING);
	assert_int_equal(world_node(&w, next, 0), 1);

	/* What runs for longer continues, and nothing follows it there. */
	sched_leaves(w.s, 0, 100, 70);
	world_cycle(&w, 70);
	is(next, STATE_RUNNING);
	sched_finish(w.s, next, 150, NULL);

	uint32_t late = world_common(&w, 150, "nodes=1:ppn=8", 10);

	world_cycle(&w, 150);
	is(late, STATE_CANDIDATE);
	sched_finish(w.s, wide, 160, NULL);
	world_cycle(&w, 160);
	is(late, STATE_RUNNING);
	assert_int_equal(world_node(&w, late, 0), 2);
	world_fini(&w);
}

static void every_policy(void **state)
{
	(void)state;
	static const char *const names[] = {"shunt", "easy", "conservative", "oscar", "fcfs"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (policy_find(names[i]) && strcmp(names[i], "fcfs") != 0) /* nobody passes there */
			under(names[i]);
}

/* A place that would last longer is lost, and another one found. */
static void reservations_move(void **state)
{
	(void)state;
	open_world("oscar", 2);

	uint32_t a = world_common(&w, 0, "nodes=1:ppn=8", 100), b = world_common(&w, 0, "nodes=1:ppn=8", 300);

	world_cycle(&w, 0);
	uint32_t q = world_submit(&w, 1, KIND_QOS, "nodes=1:ppn=8", 50, 1000, 0);
	world_cycle(&w, 1);
	is(q, STATE_ALLOCATED);
	sched_leaves(w.s, (uint32_t)world_node(&w, q, 0) - 1, world_job(&w, q)->start + 10, 2);
	world_cycle(&w, 2);
	is(q, STATE_ALLOCATED);
	assert_null(plan_booked(w.p, (uint32_t)world_node(&w, q, 0) - 1, world_job(&w, q)->start,
				world_job(&w, q)->start + 50));
	is(a, STATE_RUNNING);
	is(b, STATE_RUNNING);
	world_fini(&w);
}

/* A job that no node would outlive never starts, and the reason is named. */
static void nowhere(void **state)
{
	(void)state;
	open_world("easy", 1);
	sched_leaves(w.s, 0, 50, 0);

	uint32_t job = world_common(&w, 0, "nodes=1:ppn=4", 60);

	world_cycle(&w, 0);
	is(job, STATE_CANDIDATE);
	because(job, WHY_LEAVES,
		"node n1 goes out of service in 50s, before the job would end; with a walltime of 50s or less it would start now");

	int32_t nodes[1];
	struct whatif what;
	struct forecast *f = forecast_create(w.s);

	forecast_whatif(f, job, 100, &what, nodes);
	assert_true(what.start == TIME_NEVER);
	forecast_destroy(f);
	world_fini(&w);
}

static int64_t expected(uint32_t job)
{
	struct forecast *f = forecast_create(w.s);
	struct whatif what;
	int32_t nodes[2];

	forecast_whatif(f, job, 100, &what, nodes);
	forecast_destroy(f);
	return what.start;
}

/* The machine is down from 100 to 200: nothing lasts into it, what runs continues, and what waits
 * is expected behind it. Nodes that leave meanwhile don't matter. */
static void outage(void **state)
{
	(void)state;
	static const char *const names[] = {"shunt", "easy", "conservative", "oscar", "artaras"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		open_world(names[i], 2);

		uint32_t runs = world_common(&w, 0, "nodes=1:ppn=8", 150);

		world_cycle(&w, 0);
		sched_outage(w.s, 100, 200, false, 10);
		plan_check(w.p);

		uint32_t late = world_common(&w, 10, "nodes=2:ppn=8", 91),
			 quick = world_common(&w, 10, "nodes=1:ppn=8", 90);

		world_cycle(&w, 10);
		is(runs, STATE_RUNNING);
		is(late, STATE_CANDIDATE);
		assert_int_equal(expected(late), 200);
		is(quick, STATE_RUNNING);
		sched_leaves(w.s, 0, 150, 20);
		plan_check(w.p);
		sched_leaves(w.s, 0, 50, 20);
		plan_check(w.p);
		sched_leaves(w.s, 0, TIME_NEVER, 20);
		plan_check(w.p);
		world_cycle(&w, 20);
		assert_int_equal(expected(late), 200);
		sched_outage(w.s, TIME_NEVER, TIME_NEVER, false, 30); /* called off */
		plan_check(w.p);
		sched_finish(w.s, runs, 40, NULL);
		sched_finish(w.s, quick, 40, NULL);
		world_cycle(&w, 40);
		is(late, STATE_RUNNING);
		world_fini(&w);
	}
}

static uint32_t saving(int64_t now, int64_t walltime)
{
	uint32_t job = world_common(&w, now, "nodes=1:ppn=8", walltime);

	world_job(&w, job)->saving = 20;
	return job;
}

/* A shutdown at which jobs are saved: those that make checkpoints start before it, even if they
 * can't end by then. */
static void saved_at_an_outage(void **state)
{
	static const char *const names[] = {"shunt", "easy", "conservative", "oscar", "artaras"};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		open_world(names[i], 2);

		uint32_t runs = world_common(&w, 0, "nodes=1:ppn=8", 30);

		world_cycle(&w, 0);
		sched_outage(w.s, 100, 200, true, 10);

		uint32_t plain = world_common(&w, 10, "nodes=1:ppn=8", 500), first = saving(10, 500),
			 second = saving(10, 500), third = saving(10, 500);

		world_cycle(&w, 10);
		plan_check(w.p);
		is(plain, STATE_CANDIDATE);
		is(first, STATE_RUNNING);
		assert_int_equal(world_last(&w, first, EVENT_START)->at, 100);
		is(second, STATE_CANDIDATE);
		assert_int_equal(expected(second), 30); /* when the other has ended */
		sched_finish(w.s, runs, 30, NULL);
		world_cycle(&w, 30);
		is(second, STATE_RUNNING);
		is(third, STATE_CANDIDATE);
		sched_requeue(w.s, second, 90, NULL);
		world_cycle(&w, 90); /* too late to do anything before it would have to be saved */
		is(third, STATE_CANDIDATE);
		sched_outage(w.s, TIME_NEVER, TIME_NEVER, false, 95); /* called off: what was started continues */
		world_cycle(&w, 95);
		plan_check(w.p);
		assert_int_equal(plan_piece(w.p, first, 0)->end, 510);
		world_fini(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_policy), cmocka_unit_test(reservations_move),  cmocka_unit_test(nowhere),
		cmocka_unit_test(outage),	cmocka_unit_test(saved_at_an_outage),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
