/*
 * test_fences.c - reservations as the scheduler sees them: nodes that only some jobs may use for a
 * time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/marks.h"
#include "plan/fence.h"
#include "rules/limit.h"
#include "sched/explain.h"
#include "sched/forecast.h"
#include "sched/policy.h"
#include "support/world.h"

static struct world w;
static uint32_t course;

/* Two nodes; the first is for `course` in [100, 200). */
static void open_world(const char *policy, int64_t starve_after)
{
	world_init(&w, policy);
	w.c->settings.starve_after = starve_after;
	world_add_nodes(&w, 2, 8);
	world_open(&w);
	course = names_add(&w.c->reservation_names, "course") + 1;

	struct node_fence f = {.node = 0, .fence = {.start = 100, .end = 200, .id = course}};

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
	open_world(policy, TIME_NEVER);

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
	because(late, "it is bound to reservation course, which is over, or too far ahead to be planned");
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
	open_world("fcfs", TIME_NEVER);

	uint32_t inside = world_common(&w, 0, "nodes=1:ppn=4", 60);

	give(inside, course);

	uint32_t next = world_common(&w, 0, "nodes=1:ppn=4", 60);

	world_cycle(&w, 0);
	is(inside, STATE_CANDIDATE);
	is(next, STATE_RUNNING);
	world_fini(&w);
}

/* A place that was reserved where a fence is put up is lost; what runs continues. */
static void test_put_up(void **state)
{
	(void)state;
	world_init(&w, "conservative");
	world_add_nodes(&w, 1, 8);
	world_open(&w);

	uint32_t runs = world_common(&w, 0, "nodes=1:ppn=8", 150), next = world_common(&w, 0, "nodes=1:ppn=8", 50);
	struct node_fence f = {.node = 0, .fence = {.start = 100, .end = 300, .id = 1}};

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

/* A limit keeps a job from the place that it had in the reservation: one that had none behind it
 * is asked about again, also by a scheduler that may not take long. */
static void test_left(void **state)
{
	(void)state;
	for (int pace = 0; pace < 2; pace++) {
		struct limits *l = limits_create();
		open_world("artaras", TIME_NEVER);
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

/* One that waits for its reservation, and comes first when a limit has room again, does not
 * delay jobs that request the same outside. */
static void lined_up(const char *policy)
{
	struct limits *l = limits_create();

	open_world(policy, TIME_NEVER);
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

/* A job that leaves the line behind its limit without an event is marked. */
static void test_watched(void **state)
{
	struct limits *l = limits_create();
	struct marks marks = {0};

	(void)state;
	open_world("easy", TIME_NEVER);
	sched_limit(w.s, l);
	limits_cap(l, LIMIT_OF_USER, 1, LIMIT_JOBS, 1);
	w.limits_of_next = limits_class(l, &(struct limit_party){.user = 1});
	world_common(&w, 0, "nodes=1:ppn=8", 90);

	uint32_t second = world_common(&w, 0, "nodes=1:ppn=4", 60);

	marks_take(&marks, 0);
	sched_watch(w.s, &marks);
	world_cycle(&w, 0);
	assert_true(sched_in_line(w.s, second));
	assert_true(marks_take(&marks, 0));
	sched_withdraw(w.s, second, 1);
	sched_readmit(w.s, second, 1);
	assert_false(sched_in_line(w.s, second));
	assert_true(marks_take(&marks, 0));
	world_fini(&w);
	limits_destroy(l);
	vec_free(&marks.changed);
}

/* Jobs that wait for their reservation to begin take no place from others, however few places
 * there are. */
static void places_left(const char *policy)
{
	open_world(policy, TIME_NEVER);
	w.c->settings.reserve_depth = 2;

	uint32_t runs = world_common(&w, 0, "nodes=n2:ppn=8", 40);

	world_cycle(&w, 0);
	for (int i = 0; i < 3; i++)
		give(world_common(&w, 1, "nodes=1:ppn=4", 60), course);

	uint32_t wide = world_common(&w, 2, "nodes=2:ppn=8", 50), next = world_common(&w, 3, "nodes=n1:ppn=8", 90);

	world_cycle(&w, 3);
	is(runs, STATE_RUNNING);
	is(wide, STATE_CANDIDATE);
	assert_true(plan_holds(w.p, wide));
	if (strcmp(policy, "shunt") != 0) /* by which places may be a little later */
		is(next, STATE_CANDIDATE);
	world_fini(&w);
}

/* Nor do others, where all reserve, take those of jobs whose reservation has begun; those jobs take
 * at most `most` places for later. */
static void places_inside(const char *policy, int most)
{
	uint32_t inside[5];
	int places = 0;

	open_world(policy, TIME_NEVER);
	w.c->settings.reserve_depth = 2;

	uint32_t runs = world_common(&w, 0, "nodes=n2:ppn=8", 1000);

	world_cycle(&w, 0);
	for (int i = 0; i < 3; i++)
		world_common(&w, 0, "nodes=2:ppn=8", 150);
	world_cycle(&w, 0);
	for (int i = 0; i < 5; i++) {
		inside[i] = world_common(&w, 1, "nodes=1:ppn=8", 15);
		give(inside[i], course);
	}
	world_cycle(&w, 1);
	world_cycle(&w, 100);
	is(runs, STATE_RUNNING);
	is(inside[0], STATE_RUNNING);
	is(inside[1], STATE_CANDIDATE);
	for (int i = 1; i < 5; i++)
		places += plan_holds(w.p, inside[i]);
	assert_int_equal(places, most);
	sched_finish(w.s, inside[0], 115, NULL);
	world_cycle(&w, 115);
	is(inside[1], STATE_RUNNING);
	plan_check(w.p);
	world_fini(&w);
}

static void test_places(void **state)
{
	(void)state;
	places_left("easy");
	places_left("conservative");
	places_left("artaras");
	places_left("shunt");
	places_inside("easy", 0);
	places_inside("conservative", 2);
	places_inside("artaras", 2);
	places_inside("shunt", 1);
}

/* Who waits for a reservation does not starve, until it is bound no more. */
static void test_patient(void **state)
{
	(void)state;
	open_world("oscar", 20);

	uint32_t runs = world_common(&w, 0, "nodes=2:ppn=8", 90), inside = world_common(&w, 0, "nodes=1:ppn=4", 60);

	give(inside, course);
	world_cycle(&w, 0);
	is(runs, STATE_RUNNING);
	world_cycle(&w, 50);
	assert_int_equal(world_job(&w, inside)->kind, KIND_COMMON);
	give(inside, 0);
	world_cycle(&w, 51);
	assert_int_equal(world_job(&w, inside)->kind, KIND_STARVING);
	world_fini(&w);
}

/* A job without a guarantee that a later one with a deadline delays beyond the reservation has
 * lost its place to that one. */
static void test_delayed_beyond(void **state)
{
	(void)state;
	open_world("artaras", TIME_NEVER);
	world_common(&w, 0, "nodes=n1:ppn=8", 100);
	uint32_t inside = world_submit(&w, 0, KIND_QOS, "nodes=1:ppn=8", 100, 150, 0);
	give(inside, course);
	world_cycle(&w, 0);
	is(inside, STATE_ALLOCATED);
	assert_false(world_job(&w, inside)->guaranteed);
	uint32_t later = world_submit(&w, 1, KIND_QOS, "nodes=n1:ppn=8", 100, 200, 0);
	give(later, 0);
	world_cycle(&w, 1);
	assert_true(world_job(&w, later)->guaranteed);
	is(inside, STATE_CANDIDATE);
	assert_int_equal(world_last(&w, inside, EVENT_DEALLOCATE)->by, later);
	sched_delete(w.s, later, 2, NULL);
	world_cycle(&w, 2);
	is(inside, STATE_ALLOCATED);
	world_fini(&w);
}

/* A fence that keeps a part: others have the rest together, which is counted by instants; a job
 * that has the key may use all. */
static void parted(const char *policy)
{
	world_init(&w, policy);
	w.c->settings.starve_after = TIME_NEVER;
	world_add_nodes(&w, 1, 8);
	world_open(&w);
	course = names_add(&w.c->reservation_names, "course") + 1;

	struct node_fence f = {.node = 0, .fence = {100, 200, course, {.v = {[RES_CPU] = 3}}}};

	sched_fences(w.s, &f, 1, 0);

	uint32_t before = world_common(&w, 0, "nodes=1:ppn=8", 100), first = world_common(&w, 0, "nodes=1:ppn=4", 50);

	world_cycle(&w, 0);
	is(before, STATE_RUNNING);
	sched_finish(w.s, before, 90, NULL);
	world_cycle(&w, 90);
	is(first, STATE_RUNNING);

	uint32_t second = world_common(&w, 91, "nodes=1:ppn=2", 50), third = world_common(&w, 91, "nodes=1:ppn=1", 50);

	world_cycle(&w, 91);
	plan_check(w.p);
	is(second, STATE_CANDIDATE);
	because(second,
		"it would still be running when reservation course begins in 9s; with a walltime of 9s or less it would start now");
	is(third, STATE_RUNNING);

	uint32_t member = world_common(&w, 92, "nodes=1:ppn=3", 50);

	give(member, 0);
	world_cycle(&w, 92);
	is(member, STATE_RUNNING);
	sched_finish(w.s, first, 120, NULL);
	world_cycle(&w, 120);
	is(second, STATE_RUNNING);
	plan_check(w.p);
	world_fini(&w);
}

static void test_parted(void **state)
{
	(void)state;
	parted("easy");
	parted("conservative");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_parted),  cmocka_unit_test(test_common),
					   cmocka_unit_test(test_passed),  cmocka_unit_test(test_put_up),
					   cmocka_unit_test(test_left),	   cmocka_unit_test(test_lined_up),
					   cmocka_unit_test(test_watched), cmocka_unit_test(test_places),
					   cmocka_unit_test(test_patient), cmocka_unit_test(test_delayed_beyond)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
