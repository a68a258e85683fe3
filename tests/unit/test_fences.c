/*
 * test_fences.c - reservations as the scheduler sees them: nodes that only some jobs may use for a time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/fence.h"
#include "rules/limit.h"
#include "sched/explain.h"
#include "sched/forecast.h"
#include "sched/policy.h"
#include "support/world.h"

static struct world w;
static uint32_t course;

/* Two nodes; the first is for `course` in [100, 200). */
static void open_world(const char *policy)
{
	world_init(&w, policy);
	world_add_nodes(&w, 2, 8);
	world_open(&w);
	course = names_add(&w.c->reservation_names, "course") + 1;

	struct node_fence f = {.node = 0, .fence = {100, 200, course}};

	sched_fences(w.s, &f, 1, 0);
	plan_check(w.p);
}

static void is(uint32_t job, enum job_state state)
{
	assert_string_equal(job_state_name(world_job(&w, job)->state), job_state_name(state));
}

static void because(uint32_t job, const char *text)
{
	world_because(&w, job, WHY_RESERVATION, text);
}

static void give(uint32_t job, uint32_t bound)
{
	bool has[8] = {0};

	has[course] = true;
	sched_keys(w.s, job, cluster_nodeset(w.c, has, 8, false), bound, w.p->now);
}

static void under(const char *policy)
{
	open_world(policy);

	uint32_t outside = world_common(&w, 0, "nodes=2:ppn=8", 150), inside = world_common(&w, 0, "nodes=1:ppn=4", 60);

	give(inside, course);
	world_cycle(&w, 0);
	is(outside, STATE_CANDIDATE);
	is(inside, STATE_CANDIDATE);
	because(outside,
		"it would still be running when reservation course begins in 1m 40s; with a walltime of 1m 40s or less it would start now");
	because(inside, "it is bound to reservation course, which begins in 1m 40s");

	/* One that ends before it begins may use the node; one with a key may last into it. */
	uint32_t quick = world_common(&w, 1, "nodes=n1:ppn=4", 90), member = world_common(&w, 1, "nodes=n1:ppn=4", 150);

	give(member, 0);
	world_cycle(&w, 1);
	is(quick, STATE_RUNNING);
	is(member, STATE_RUNNING);
	sched_finish(w.s, quick, 91, NULL);
	world_cycle(&w, 91);
	assert_true(sched_next_wake(w.s) <= 100);
	world_cycle(&w, 100);
	is(inside, STATE_RUNNING);
	assert_int_equal(world_node(&w, inside, 0), 1);
	is(outside, STATE_CANDIDATE);

	/* It is bound, and does not fit in what is left. */
	uint32_t late = world_common(&w, 120, "nodes=1:ppn=1", 100);

	give(late, course);
	world_cycle(&w, 120);
	because(late, "it is bound to reservation course, which ends in 1m 20s, before the job would");
	sched_finish(w.s, inside, 150, NULL);
	sched_finish(w.s, member, 151, NULL);
	world_cycle(&w, 151);
	is(outside, STATE_CANDIDATE);
	because(outside, "reservation course blocks nodes that it needs for another 49s");

	/* It is taken away. */
	sched_fences(w.s, NULL, 0, 160);
	world_cycle(&w, 160);
	is(outside, STATE_RUNNING);
	because(late, "it is bound to reservation course, which is over");
	world_fini(&w);
}

static void test_common(void **state)
{
	(void)state;
	under("easy");
	under("conservative");
}

/* Nobody waits behind a job that waits for its reservation. */
static void test_passed(void **state)
{
	(void)state;
	open_world("fcfs");

	uint32_t inside = world_common(&w, 0, "nodes=1:ppn=4", 60);

	give(inside, course);

	uint32_t next = world_common(&w, 0, "nodes=1:ppn=4", 60);

	world_cycle(&w, 0);
	is(inside, STATE_CANDIDATE);
	is(next, STATE_RUNNING);
	world_fini(&w);
}

/* A place that was reserved where a fence is put up is lost; what runs goes on. */
static void test_put_up(void **state)
{
	(void)state;
	world_init(&w, "conservative");
	world_add_nodes(&w, 1, 8);
	world_open(&w);

	uint32_t runs = world_common(&w, 0, "nodes=1:ppn=8", 150), next = world_common(&w, 0, "nodes=1:ppn=8", 50);
	struct node_fence f = {.node = 0, .fence = {100, 300, 1}};

	world_cycle(&w, 0);
	is(runs, STATE_RUNNING);
	assert_int_equal(sched_planned(w.s, next), 150);
	sched_fences(w.s, &f, 1, 10);
	plan_check(w.p);
	world_cycle(&w, 10);
	is(runs, STATE_RUNNING);
	assert_int_equal(sched_planned(w.s, next), 300);
	plan_check(w.p);
	world_fini(&w);
}

/* A limit keeps a job from the place that it had in the reservation: one that had none behind it is asked about again, also by a scheduler that may not take long. */
static void test_left(void **state)
{
	(void)state;
	for (int pace = 0; pace < 2; pace++) {
		struct limits *l = limits_create();
		open_world("artaras");
		sched_limit(w.s, l);
		sched_pace(w.s, pace ? 1000000 : 0);
		limits_cap(l, LIMIT_OF_USER, 1, LIMIT_JOBS, 1);

		uint32_t first = world_common(&w, 0, "nodes=n1:ppn=8", 100),
			 class = limits_class(l, &(struct limit_party){.user = 1});

		w.limits_of_next = class;
		uint32_t member = world_common(&w, 0, "nodes=n1:ppn=8", 100);

		give(member, 0);
		w.limits_of_next = 0;
		world_cycle(&w, 0);

		uint32_t inside = world_common(&w, 0, "nodes=1:ppn=4", 60);

		give(inside, course);
		world_cycle(&w, 0);
		is(first, STATE_RUNNING);
		assert_int_equal(sched_planned(w.s, member), 100);
		assert_int_equal(sched_planned(w.s, inside), TIME_NEVER);
		w.limits_of_next = class;
		uint32_t other = world_common(&w, 50, "nodes=n2:ppn=8", 500);

		world_cycle(&w, 50);
		is(other, STATE_RUNNING);
		sched_finish(w.s, first, 100, NULL);
		world_cycle(&w, 100);
		is(member, STATE_CANDIDATE);
		is(inside, STATE_RUNNING);
		world_fini(&w);
		limits_destroy(l);
	}
}

/* One that waits for its reservation, and comes first when a limit has room again, keeps nobody waiting who asks for the same outside. */
static void lined_up(const char *policy)
{
	struct limits *l = limits_create();

	open_world(policy);
	sched_limit(w.s, l);
	limits_cap(l, LIMIT_OF_USER, 1, LIMIT_JOBS, 1);
	w.limits_of_next = limits_class(l, &(struct limit_party){.user = 1});

	uint32_t first = world_common(&w, 0, "nodes=1:ppn=8", 90);

	world_cycle(&w, 0);

	uint32_t inside = world_common(&w, 1, "nodes=1:ppn=4", 60), next = world_common(&w, 1, "nodes=1:ppn=4", 60);

	give(inside, course);
	give(next, 0);
	world_cycle(&w, 1);
	is(first, STATE_RUNNING);
	sched_finish(w.s, first, 10, NULL);
	world_cycle(&w, 10);
	is(inside, STATE_CANDIDATE);
	is(next, STATE_RUNNING);
	world_fini(&w);
	limits_destroy(l);
}

static void test_lined_up(void **state)
{
	(void)state;
	lined_up("easy");
	lined_up("conservative");
	lined_up("artaras");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_common), cmocka_unit_test(test_passed),
					   cmocka_unit_test(test_put_up), cmocka_unit_test(test_left),
					   cmocka_unit_test(test_lined_up)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
