/*
 * test_special.c - starving, QoS and emergency jobs, and what administrators and failures do
 * (docs/scheduling.md).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/world.h"

static struct world w;

static int teardown(void **state)
{
	(void)state;
	world_fini(&w);
	return 0;
}

static void open_patient(int nodes, int64_t starve_after)
{
	world_init(&w, "oscar");
	world_add_nodes(&w, nodes, 8);
	w.c->settings.starve_after = starve_after;
	world_open(&w);
}

static void open_world(int nodes)
{
	open_patient(nodes, 10);
}

static void is(uint32_t job, enum job_state state)
{
	assert_string_equal(job_state_name(world_job(&w, job)->state), job_state_name(state));
}

static void reserved_at(uint32_t job, int64_t at)
{
	is(job, STATE_ALLOCATED);
	assert_int_equal(world_job(&w, job)->start, at);
}

static uint32_t qos(int64_t now, const char *request, int64_t walltime, int64_t deadline)
{
	return world_submit(&w, now, KIND_QOS, request, walltime, deadline, 0);
}

/* QoS */

static void test_qos_starts_now_when_idle(void **state)
{
	(void)state;
	open_world(1);
	uint32_t q = qos(0, "nodes=1:ppn=8", 100, 1000);
	world_cycle(&w, 0);
	is(q, STATE_RUNNING);
	assert_true(world_job(&w, q)->guaranteed);
	assert_int_equal(world_count(&w, q, EVENT_GUARANTEE), 1);
}

/* Reserved as late as the deadline allows; common jobs do not touch it; brought forward when
 * room is left. */
static void test_qos_keeps_its_promise(void **state)
{
	(void)state;
	open_patient(1, TIME_NEVER);
	uint32_t r = world_common(&w, 0, "nodes=1:ppn=8", 100);
	world_cycle(&w, 0);
	uint32_t q = qos(1, "nodes=1:ppn=8", 100, 500);
	world_cycle(&w, 1);
	reserved_at(q, 400);
	assert_int_equal(sched_next_wake(w.s), 400);

	uint32_t longer = world_common(&w, 2, "nodes=1:ppn=1", 400), fits = world_common(&w, 2, "nodes=1:ppn=1", 200);
	world_cycle(&w, 2);
	sched_finish(w.s, r, 100, NULL);
	world_cycle(&w, 100);
	is(fits, STATE_RUNNING);     /* 100 .. 300 */
	is(longer, STATE_CANDIDATE); /* 100 .. 500 would delay it */
	reserved_at(q, 400);
	sched_finish(w.s, fits, 250, NULL); /* early */
	world_cycle(&w, 250);
	is(q, STATE_RUNNING); /* the end of a cycle moves it to now */
	assert_int_equal(world_job(&w, q)->start, 250);
	is(longer, STATE_CANDIDATE);
}

static void test_qos_not_yet_guaranteed_then_expires(void **state)
{
	(void)state;
	open_world(1);
	uint32_t r = world_common(&w, 0, "nodes=1:ppn=8", 1000);
	world_cycle(&w, 0);
	uint32_t q = qos(5, "nodes=1:ppn=8", 100, 500);
	world_cycle(&w, 5);
	is(q, STATE_CANDIDATE);
	assert_false(world_job(&w, q)->guaranteed);
	assert_true(sched_next_wake(w.s) <= 401);
	world_cycle(&w, 400);
	is(q, STATE_CANDIDATE); /* starting at 400 would still do */
	world_cycle(&w, 401);
	is(q, STATE_EXPIRED);
	is(r, STATE_RUNNING);
}

static void test_qos_guaranteed_later(void **state)
{
	(void)state;
	open_world(1);
	uint32_t r = world_common(&w, 0, "nodes=1:ppn=8", 1000);
	world_cycle(&w, 0);
	uint32_t q = qos(5, "nodes=1:ppn=8", 100, 500);
	world_cycle(&w, 5);
	sched_finish(w.s, r, 50, NULL);
	world_cycle(&w, 50);
	is(q, STATE_RUNNING);
	assert_true(world_job(&w, q)->guaranteed);
}

static void test_impossible_deadline_expires_at_once(void **state)
{
	(void)state;
	open_world(1);
	uint32_t q = qos(0, "nodes=1:ppn=1", 100, 99), just = qos(0, "nodes=1:ppn=1", 100, 100);
	world_cycle(&w, 0);
	is(q, STATE_EXPIRED);
	is(just, STATE_RUNNING);
}

/* The tolerance is part of the reservation. */
static void test_tolerance_counts(void **state)
{
	(void)state;
	open_world(1);
	w.c->settings.tolerance = 7;
	uint32_t r = world_common(&w, 0, "nodes=1:ppn=8", 100);
	world_cycle(&w, 0);
	assert_int_equal(world_last(&w, r, EVENT_START)->at, 107);
	uint32_t q = qos(1, "nodes=1:ppn=8", 100, 500), late = qos(1, "nodes=1:ppn=8", 100, 107);
	world_cycle(&w, 1);
	reserved_at(q, 393);
	is(late, STATE_EXPIRED);
}

/* Starving */

/* A common job never reserves; one that waited too long reserves the earliest instant, and
 * others go round it. */
static void test_starving_reserves(void **state)
{
	(void)state;
	open_world(1);
	world_common(&w, 0, "nodes=1:ppn=4", 100);
	world_cycle(&w, 0);
	uint32_t big = world_common(&w, 1, "nodes=1:ppn=8", 50);
	world_cycle(&w, 1);
	is(big, STATE_CANDIDATE);
	assert_in_range(sched_next_wake(w.s), 2, 11); /* in time for it */
	world_cycle(&w, 10);
	assert_int_equal(world_job(&w, big)->kind, KIND_COMMON);
	world_cycle(&w, 11);
	assert_int_equal(world_job(&w, big)->kind, KIND_STARVING);
	reserved_at(big, 100);
	uint32_t before = world_common(&w, 12, "nodes=1:ppn=4", 88), across = world_common(&w, 12, "nodes=1:ppn=2", 89);
	world_cycle(&w, 12);
	is(before, STATE_RUNNING);
	is(across, STATE_CANDIDATE);
}

/* QoS jobs deallocate a starving job until it is critical; each time is counted, and an
 * emergency job's is not. */
static void test_critical(void **state)
{
	(void)state;
	open_world(1);
	w.c->settings.max_deallocations = 2;
	uint32_t r = world_common(&w, 0, "nodes=1:ppn=8", 1000);
	world_cycle(&w, 0);
	uint32_t s = world_common(&w, 1, "nodes=1:ppn=8", 400);
	world_cycle(&w, 11);
	reserved_at(s, 1000);

	uint32_t e = world_submit(&w, 20, KIND_EMERGENCY, "nodes=1:ppn=8", 100, 1100, 0);
	world_cycle(&w, 20);
	reserved_at(e, 1000);
	assert_int_equal(world_job(&w, s)->by, e);
	assert_int_equal(world_job(&w, s)->deallocations, 0);
	reserved_at(s, 1100); /* found a new place in the same cycle */

	uint32_t q1 = qos(21, "nodes=1:ppn=8", 100, 1200);
	world_cycle(&w, 21);
	reserved_at(q1, 1100);
	assert_int_equal(world_job(&w, s)->deallocations, 1);
	reserved_at(s, 1200);

	uint32_t q2 = qos(22, "nodes=1:ppn=8", 100, 1300);
	world_cycle(&w, 22);
	reserved_at(q2, 1200);
	assert_int_equal(world_job(&w, s)->deallocations, 2);
	reserved_at(s, 1300);
	assert_true(cluster_critical(w.c, world_job(&w, s)));

	uint32_t q3 = qos(23, "nodes=1:ppn=8", 100, 1400);
	world_cycle(&w, 23);
	is(q3, STATE_CANDIDATE); /* no longer */
	reserved_at(s, 1300);
	assert_int_equal(world_job(&w, s)->deallocations, 2);
	is(r, STATE_RUNNING);
}

/* The oldest starving job comes to now in the place of a younger one, not the other way round. */
static void test_starving_to_now(void **state)
{
	(void)state;
	open_world(1);
	uint32_t r1 = world_common(&w, 0, "nodes=1:ppn=4", 100), r2 = world_common(&w, 0, "nodes=1:ppn=4", 200);
	world_cycle(&w, 0);
	uint32_t old = world_common(&w, 1, "nodes=1:ppn=8", 100), young = world_common(&w, 2, "nodes=1:ppn=4", 100);
	world_cycle(&w, 12);
	reserved_at(old, 200);
	reserved_at(young, 100);
	sched_finish(w.s, r1, 50, NULL);
	world_cycle(&w, 50);
	is(young, STATE_RUNNING); /* 50 .. 150: in nobody's way */
	reserved_at(old, 200);
	sched_finish(w.s, r2, 60, NULL);
	world_cycle(&w, 60);
	reserved_at(old, 200); /* younger but running: it stays */
	sched_finish(w.s, young, 70, NULL);
	world_cycle(&w, 70);
	is(old, STATE_RUNNING);
}

/* Emergency */

#define VICTIMS 7
static const unsigned power_of[VICTIMS] = {POWER_SC_ALLOC, POWER_Q_ALLOC, POWER_E_ALLOC, POWER_C_EXEC,
					   POWER_S_EXEC,   POWER_Q_EXEC,  POWER_E_EXEC};

/* Seven nodes; on node i a job that only power i may remove, over 200 .. 300. Now is 20. */
static void open_victims(uint32_t victim[VICTIMS])
{
	open_world(VICTIMS);
	w.c->settings.max_deallocations = 0; /* every starving job is critical */
	for (int i = 0; i < 3; i++)
		world_common(&w, 0, i == 0 ? "nodes=n1:ppn=8" : i == 1 ? "nodes=n2:ppn=8" : "nodes=n3:ppn=8", 100);
	uint32_t blocker = world_common(&w, 0, "nodes=n5:ppn=8", 100);
	world_cycle(&w, 0);
	victim[0] = world_common(&w, 0, "nodes=n1:ppn=8", 1000);
	victim[4] = world_common(&w, 0, "nodes=n5:ppn=8", 1000);
	world_cycle(&w, 10); /* both starve, and reserve */
	sched_finish(w.s, blocker, 20, NULL);
	victim[1] = qos(20, "nodes=n2:ppn=8", 1000, 1100);
	victim[2] = world_submit(&w, 20, KIND_EMERGENCY, "nodes=n3:ppn=8", 1000, 1100, 0);
	victim[3] = world_common(&w, 20, "nodes=n4:ppn=8", 1000);
	victim[5] = qos(20, "nodes=n6:ppn=8", 1000, 1030);
	victim[6] = world_submit(&w, 20, KIND_EMERGENCY, "nodes=n7:ppn=8", 1000, 1030, 0);
	world_cycle(&w, 20);
	for (int i = 0; i < VICTIMS; i++) {
		is(victim[i], i < 3 ? STATE_ALLOCATED : STATE_RUNNING);
		assert_int_equal(world_node(&w, victim[i], 0), i + 1);
	}
}

/* Times the job lost its place for `by`: at once, or, while it runs, from the instant on at
 * which it is needed. */
static int losses(uint32_t job, uint32_t by)
{
	int n = 0;

	for (size_t i = 0; i < w.record.n; i++) {
		const struct event *e = &w.record.v[i].e;
		n += e->job == job && e->by == by && (e->type == EVENT_MIGRATE || e->type == EVENT_DEALLOCATE);
	}
	return n;
}

static void test_each_power_removes_what_it_names(void **state)
{
	uint32_t victim[VICTIMS];

	(void)state;
	for (int k = 0; k < VICTIMS; k++) {
		open_victims(victim);
		uint32_t e = world_submit(&w, 21, KIND_EMERGENCY, "nodes=1:ppn=8", 100, 300, power_of[k]);
		world_cycle(&w, 21);
		assert_true(world_job(&w, e)->guaranteed);
		assert_int_equal(world_node(&w, e, 0), k + 1);
		for (int i = 0; i < VICTIMS; i++)
			assert_int_equal(losses(victim[i], e), i == k);
		assert_int_equal(world_job(&w, victim[k])->by, e);
		if (k >= 3) { /* it runs until its place is needed */
			is(victim[k], STATE_RUNNING);
			assert_int_equal(world_last(&w, victim[k], EVENT_MIGRATE)->at, 200);
		}
		if (k < VICTIMS - 1)
			world_fini(&w);
	}
}

static int64_t ten_seconds(void *context, uint32_t job)
{
	(void)context;
	(void)job;
	return 10;
}

static int64_t by_number(void *context, uint32_t job)
{
	(void)context;
	return job ? 0 : 30;
}

/* Each victim by its own: one that ends at once is not stopped early because another takes long. */
static void test_victims_one_by_one(void **state)
{
	(void)state;
	open_world(2);
	uint32_t slow = world_common(&w, 0, "nodes=1:ppn=8", 1000), quick = world_common(&w, 0, "nodes=1:ppn=8", 1000);
	sched_on_delay(w.s, by_number, NULL);
	world_cycle(&w, 0);
	uint32_t e = world_submit(&w, 20, KIND_EMERGENCY, "nodes=2:ppn=8", 100, 300, POWER_C_EXEC);
	world_cycle(&w, 20);
	assert_int_equal(sched_next_wake(w.s), 170);
	world_cycle(&w, 170);
	assert_int_equal(world_count(&w, slow, EVENT_PREEMPT), 1);
	is(quick, STATE_RUNNING);
	world_cycle(&w, 200);
	assert_int_equal(world_count(&w, quick, EVENT_PREEMPT), 1);
	is(e, STATE_RUNNING);
}

/* A victim is spared when another job ends and leaves room; else it is stopped when its place is
 * needed, less what it takes to end it. */
static void test_victim_is_spared(void **state)
{
	(void)state;
	open_world(2);
	uint32_t a = world_common(&w, 0, "nodes=1:ppn=8", 1000), b = world_common(&w, 0, "nodes=1:ppn=8", 1000);
	world_cycle(&w, 0);
	sched_on_delay(w.s, ten_seconds, NULL);
	uint32_t e = world_submit(&w, 20, KIND_EMERGENCY, "nodes=1:ppn=8", 100, 300, POWER_C_EXEC);
	world_cycle(&w, 20);
	assert_true(world_job(&w, e)->guaranteed);
	uint32_t victim = world_count(&w, a, EVENT_MIGRATE) ? a : b, other = victim == a ? b : a;
	assert_int_equal(world_last(&w, victim, EVENT_MIGRATE)->at, 200);
	assert_int_equal(sched_next_wake(w.s), 190);
	sched_finish(w.s, other, 50, NULL);
	world_cycle(&w, 50);
	assert_int_equal(world_last(&w, victim, EVENT_MIGRATE)->at, 1000);
	is(e, STATE_RUNNING); /* there is room at once */
	world_cycle(&w, 200);
	is(victim, STATE_RUNNING);
}

static void test_victim_is_stopped_in_time(void **state)
{
	(void)state;
	open_world(1);
	sched_on_delay(w.s, ten_seconds, NULL);
	uint32_t a = world_common(&w, 0, "nodes=1:ppn=8", 1000);
	world_cycle(&w, 0);
	uint32_t e = world_submit(&w, 20, KIND_EMERGENCY, "nodes=1:ppn=8", 100, 300, POWER_C_EXEC);
	world_cycle(&w, 20);
	world_cycle(&w, 189);
	is(a, STATE_RUNNING);
	world_cycle(&w, 190);
	assert_int_equal(world_count(&w, a, EVENT_PREEMPT), 1);
	is(e, STATE_RUNNING);
}

/* What may take too long is not promised: its victim is stopped at once, and it starts when that
 * has gone. */
static void test_guarantee_counts_the_victims_time(void **state)
{
	(void)state;
	open_world(1);
	sched_on_delay(w.s, ten_seconds, NULL);
	uint32_t a = world_common(&w, 0, "nodes=1:ppn=8", 1000);
	world_cycle(&w, 0);
	uint32_t e = world_submit(&w, 20, KIND_EMERGENCY, "nodes=1:ppn=8", 100, 129, POWER_C_EXEC);
	int64_t until = 129;
	assert_int_equal(sched_would_keep(w.s, e, 20, 0, &until), KEEP_NO);
	world_cycle(&w, 20);
	assert_int_equal(world_count(&w, a, EVENT_PREEMPT), 1);
	assert_false(world_job(&w, e)->guaranteed);
	world_cycle(&w, 21);
	assert_false(world_job(&w, e)->guaranteed);
}

static void test_guarantee_of_a_victim_in_time(void **state)
{
	(void)state;
	open_world(1);
	sched_on_delay(w.s, ten_seconds, NULL);
	uint32_t a = world_common(&w, 0, "nodes=1:ppn=8", 1000);
	world_cycle(&w, 0);
	uint32_t e = world_submit(&w, 20, KIND_EMERGENCY, "nodes=1:ppn=8", 100, 130, POWER_C_EXEC);
	world_cycle(&w, 20);
	assert_true(world_job(&w, e)->guaranteed);
	assert_int_equal(world_count(&w, a, EVENT_PREEMPT), 1);
}

/* Who is to be stopped at 200 when three nodes are full since 0, 10 and 20, and the work of one
 * is saved up to some instant. */
static uint32_t victim_with(int saver, int64_t saved)
{
	uint32_t job[3], victim = JOB_NONE;

	open_world(3);
	for (int i = 0; i < 3; i++) {
		job[i] = world_common(&w, i * 10, "nodes=1:ppn=8", 1000);
		world_cycle(&w, i * 10);
	}
	world_job(&w, job[saver])->saved = saved;
	world_submit(&w, 40, KIND_EMERGENCY, "nodes=1:ppn=8", 100, 300, POWER_C_EXEC);
	world_cycle(&w, 40);
	for (uint32_t i = 0; i < 3; i++)
		if (world_count(&w, job[i], EVENT_MIGRATE)) {
			assert_int_equal(victim, JOB_NONE);
			victim = i;
		}
	world_fini(&w);
	return victim;
}

/* The victim is the one that loses least: what it did since its last checkpoint, or its start. */
static void test_victim_loses_least(void **state)
{
	(void)state;
	assert_int_equal(victim_with(0, 0), 2);
	assert_int_equal(victim_with(0, 19), 2);
	assert_int_equal(victim_with(0, 21), 0);
	assert_int_equal(victim_with(1, 35), 1);
	assert_int_equal(victim_with(2, 5), 2); /* from an earlier attempt */
	/* Also on one node; one that frees more than is needed is not spared for that. */
	open_world(1);
	uint32_t large = world_common(&w, 0, "nodes=1:ppn=6", 1000);
	world_cycle(&w, 0);
	uint32_t small = world_common(&w, 10, "nodes=1:ppn=2", 1000);
	world_cycle(&w, 10);
	world_submit(&w, 20, KIND_EMERGENCY, "nodes=1:ppn=2", 100, 300, POWER_C_EXEC);
	world_cycle(&w, 20);
	assert_int_equal(world_count(&w, large, EVENT_MIGRATE), 0);
	assert_int_equal(world_count(&w, small, EVENT_MIGRATE), 1);
	world_fini(&w);
	open_world(1);
	large = world_common(&w, 0, "nodes=1:ppn=6", 1000);
	small = world_common(&w, 0, "nodes=1:ppn=2", 1000);
	world_cycle(&w, 0);
	world_job(&w, large)->saved = 15;
	world_submit(&w, 20, KIND_EMERGENCY, "nodes=1:ppn=2", 100, 300, POWER_C_EXEC);
	world_cycle(&w, 20);
	assert_int_equal(world_count(&w, large, EVENT_MIGRATE), 1);
	assert_int_equal(world_count(&w, small, EVENT_MIGRATE), 0);
}

/* A victim whose cut end has come did not take too long: it is stopped, and the emergency job
 * has its place. */
static void test_victim_is_not_an_overrun(void **state)
{
	(void)state;
	open_patient(1, TIME_NEVER);
	uint32_t r = world_common(&w, 0, "nodes=1:ppn=8", 1000);
	world_cycle(&w, 0);
	uint32_t e = world_submit(&w, 20, KIND_EMERGENCY, "nodes=1:ppn=8", 100, 300, POWER_C_EXEC);
	world_cycle(&w, 20);
	reserved_at(e, 200);
	assert_false(sched_overrun(w.s, r, 202, 200));
	reserved_at(e, 200);
	world_cycle(&w, 200);
	is(e, STATE_RUNNING);
	is(r, STATE_CANDIDATE);
}

/* When the emergency job is deleted, its victims are spared. */
static void test_victim_of_none(void **state)
{
	(void)state;
	open_world(1);
	uint32_t a = world_common(&w, 0, "nodes=1:ppn=8", 1000);
	world_cycle(&w, 0);
	uint32_t e = world_submit(&w, 20, KIND_EMERGENCY, "nodes=1:ppn=8", 100, 300, POWER_C_EXEC);
	world_cycle(&w, 20);
	assert_int_equal(world_last(&w, a, EVENT_MIGRATE)->at, 200);
	sched_delete(w.s, e, 30, NULL);
	world_cycle(&w, 30);
	assert_int_equal(world_last(&w, a, EVENT_MIGRATE)->at, 1000);
	world_cycle(&w, 200);
	is(a, STATE_RUNNING);
}

/* All other powers together do not remove it: here there is only one node. */
static void test_no_other_power_removes_it(void **state)
{
	uint32_t victim[VICTIMS];

	(void)state;
	for (int k = 0; k < VICTIMS; k++) {
		char request[32];
		unsigned all = 0x7f;
		open_victims(victim);
		snprintf(request, sizeof request, "nodes=n%d:ppn=8", k + 1);
		uint32_t e = world_submit(&w, 21, KIND_EMERGENCY, request, 100, 300, all & ~power_of[k]);
		world_cycle(&w, 21);
		is(e, STATE_CANDIDATE);
		for (int i = 0; i < VICTIMS; i++)
			assert_int_equal(losses(victim[i], e), 0);
		if (k < VICTIMS - 1)
			world_fini(&w);
	}
}

/* With all powers the least important job goes: the lowest category. */
static void test_least_important_first(void **state)
{
	uint32_t victim[VICTIMS];
	unsigned powers = 0x7f;

	(void)state;
	for (int k = 0; k < VICTIMS; k++) {
		open_victims(victim);
		uint32_t e = world_submit(&w, 21, KIND_EMERGENCY, "nodes=1:ppn=8", 100, 300, powers);
		world_cycle(&w, 21);
		for (int i = 0; i < VICTIMS; i++)
			assert_int_equal(losses(victim[i], e), i == k);
		powers &= ~power_of[k];
		if (k < VICTIMS - 1)
			world_fini(&w);
	}
}

/* Powers are for new jobs: one that found no place when it came waits like a QoS job. */
static void test_powers_only_when_new(void **state)
{
	(void)state;
	open_world(1);
	uint32_t a = world_submit(&w, 0, KIND_EMERGENCY, "nodes=1:ppn=8", 1000, 1000, 0);
	world_cycle(&w, 0);
	uint32_t e = world_submit(&w, 1, KIND_EMERGENCY, "nodes=1:ppn=8", 100, 300, POWER_C_EXEC);
	world_cycle(&w, 1);
	is(e, STATE_CANDIDATE);
	sched_delete(w.s, a, 2, NULL);
	uint32_t c = world_common(&w, 2, "nodes=1:ppn=8", 1000);
	world_decide(&w, 2);
	world_confirm(&w, 2);
	is(e, STATE_RUNNING); /* at the first room, before the common job */
	is(c, STATE_CANDIDATE);
}

/* Between the order to start and the answer a job can lose its place as well. */
static void test_power_over_a_job_that_is_starting(void **state)
{
	(void)state;
	open_world(1);
	uint32_t c = world_common(&w, 0, "nodes=1:ppn=8", 1000);
	world_decide(&w, 0);
	is(c, STATE_NOW);
	uint32_t e = world_submit(&w, 1, KIND_EMERGENCY, "nodes=1:ppn=8", 100, 101, POWER_C_EXEC);
	world_decide(&w, 1);
	is(e, STATE_NOW);
	is(c, STATE_CANDIDATE);
}

/* Failures and administrators */

static void test_start_failure(void **state)
{
	(void)state;
	open_world(1);
	uint32_t c = world_common(&w, 0, "nodes=1:ppn=8", 100);
	world_decide(&w, 0);
	is(c, STATE_NOW);
	sched_start_failed(w.s, c, 1, NULL);
	is(c, STATE_CANDIDATE);
	assert_int_equal(w.p->free_now[0], 8);
	world_cycle(&w, 1);
	is(c, STATE_RUNNING);
	assert_int_equal(world_job(&w, c)->attempt, 2);
	assert_int_equal(world_job(&w, c)->start, 1);
}

static void test_node_down_and_up(void **state)
{
	(void)state;
	open_world(2);
	uint32_t on1 = world_common(&w, 0, "nodes=n1:ppn=8", 100), on2 = world_common(&w, 0, "nodes=n2:ppn=2", 100);
	world_cycle(&w, 0);
	uint32_t q = qos(1, "nodes=n1:ppn=1", 100, 300);
	world_cycle(&w, 1);
	reserved_at(q, 200);
	sched_node(w.s, 0, false, 5);
	is(on1, STATE_CANDIDATE);
	is(q, STATE_CANDIDATE);
	is(on2, STATE_RUNNING);
	assert_int_equal(world_count(&w, on1, EVENT_PREEMPT), 1);
	world_cycle(&w, 5);
	is(on1, STATE_CANDIDATE);     /* it names its node */
	sched_node(w.s, 0, false, 6); /* nothing new */
	world_cycle(&w, 6);
	sched_node(w.s, 0, true, 7);
	world_cycle(&w, 7);
	is(on1, STATE_RUNNING); /* again: common jobs come before reserved ones are brought forward */
	assert_int_equal(world_job(&w, on1)->attempt, 2);
	reserved_at(q, 200);
	is(on2, STATE_RUNNING);
}

static void test_overrun(void **state)
{
	(void)state;
	open_world(1);
	uint32_t late = world_common(&w, 0, "nodes=1:ppn=8", 100);
	world_cycle(&w, 0);
	uint32_t q = qos(1, "nodes=1:ppn=8", 100, 300);
	world_cycle(&w, 1);
	reserved_at(q, 200);
	sched_overrun(w.s, late, 150, 100); /* still there, but out of q's way */
	uint32_t next = world_common(&w, 100, "nodes=1:ppn=1", 10);
	world_cycle(&w, 100);
	is(late, STATE_RUNNING);
	is(next, STATE_CANDIDATE); /* its CPUs are not free */
	reserved_at(q, 200);
	sched_overrun(w.s, late, 250, 150); /* now q can't be kept, and that is reported */
	is(q, STATE_CANDIDATE);
	assert_int_equal(world_last(&w, q, EVENT_DEALLOCATE)->by, late);
	world_cycle(&w, 150);
	is(next, STATE_ALLOCATED); /* starving by now, and not yet */
	sched_finish(w.s, late, 160, NULL);
	world_cycle(&w, 160);
	reserved_at(q, 200); /* it came in time after all */
	is(next, STATE_RUNNING);
}

/* A place lasts until the job's end is over, kill_delay and all: what may still be there when a
 * guaranteed job is to start does not start. */
static void test_endings_count(void **state)
{
	(void)state;
	open_patient(1, TIME_NEVER);
	uint32_t r = world_common(&w, 0, "nodes=1:ppn=4", 10), q, y;
	world_cycle(&w, 0);
	w.ending_of_next = 10;
	q = qos(0, "nodes=1:ppn=8", 10, 45);
	world_cycle(&w, 0);
	reserved_at(q, 35); /* its own end may take longer than its deadline */
	assert_true(world_job(&w, q)->guaranteed);
	y = world_common(&w, 0, "nodes=1:ppn=4", 26);
	world_cycle(&w, 0);
	is(y, STATE_CANDIDATE);
	sched_delete(w.s, y, 0, NULL);
	y = world_common(&w, 0, "nodes=1:ppn=4", 25);
	world_cycle(&w, 0);
	is(y, STATE_RUNNING);
	assert_int_equal(plan_piece(w.p, y, 0)->end, 35);
	sched_finish(w.s, r, 9, NULL);
	world_cycle(&w, 9);
	sched_finish(w.s, y, 35, NULL); /* it has taken all of it */
	world_cycle(&w, 35);
	is(q, STATE_RUNNING);
}

/* Each of several reserved jobs has a place of the new length once walltimes are counted
 * otherwise. */
static void test_lengths_change(void **state)
{
	uint32_t job[4];

	(void)state;
	open_patient(1, TIME_NEVER);
	world_common(&w, 0, "nodes=1:ppn=8", 100);
	world_cycle(&w, 0);
	for (int i = 0; i < 4; i++)
		job[i] = i < 3 ? qos(1, "nodes=1:ppn=8", 100, 10000) : world_common(&w, 1, "nodes=1:ppn=8", 100);
	world_cycle(&w, 1);
	for (int changed = 0; changed < 2; changed++) {
		for (int i = 0; i < 3; i++) {
			const struct piece *p = plan_piece(w.p, job[i], 0);
			is(job[i], STATE_ALLOCATED);
			assert_int_equal(p->end - p->start, changed ? 120 : 100);
		}
		is(job[3], STATE_CANDIDATE);
		w.c->settings.tolerance = 20;
		sched_resize(w.s, 2);
		world_cycle(&w, 2);
	}
}

/* Another place in time is found at once, before anybody else is asked; without one the
 * guarantee is lost. */
static void test_overrun_moves_a_guarantee(void **state)
{
	(void)state;
	open_patient(2, TIME_NEVER);
	uint32_t late = world_common(&w, 0, "nodes=1:ppn=8", 100), other = world_common(&w, 0, "nodes=1:ppn=8", 150);
	world_cycle(&w, 0);
	uint32_t q = qos(1, "nodes=1:ppn=8", 100, 210), first = qos(1, "nodes=1:ppn=8", 100, 310);
	world_cycle(&w, 1);
	reserved_at(q, 110);
	reserved_at(first, 210);
	sched_overrun(w.s, late, 112, 110);
	is(q, STATE_CANDIDATE);
	assert_false(world_job(&w, q)->guaranteed);
	reserved_at(first, 210);
	uint32_t z = world_common(&w, 110, "nodes=1:ppn=8", 60);
	sched_finish(w.s, other, 110, NULL); /* in the same second: q is first */
	world_cycle(&w, 110);
	is(q, STATE_RUNNING);
	assert_true(world_job(&w, q)->guaranteed);
	is(z, STATE_CANDIDATE);
	sched_overrun(w.s, late, 212, 200);
	assert_true(world_job(&w, first)->guaranteed);
	reserved_at(first, 210);
	assert_int_equal(world_node(&w, first, 0), world_node(&w, q, 0)); /* behind it, on the other node */
	assert_int_equal(world_count(&w, first, EVENT_DEALLOCATE), 0);
}

static void test_hold_and_release(void **state)
{
	(void)state;
	open_world(1);
	uint32_t r = world_common(&w, 0, "nodes=1:ppn=8", 100);
	world_cycle(&w, 0);
	uint32_t c = world_common(&w, 1, "nodes=1:ppn=8", 50), q = qos(1, "nodes=1:ppn=8", 100, 300);
	world_cycle(&w, 1);
	reserved_at(q, 200);
	sched_hold(w.s, c, 2);
	sched_hold(w.s, q, 2);
	is(c, STATE_HELD);
	is(q, STATE_HELD);
	assert_false(plan_holds(w.p, q));
	sched_finish(w.s, r, 20, NULL);
	world_cycle(&w, 20);
	is(c, STATE_HELD);
	is(q, STATE_HELD);
	sched_release(w.s, c, 30); /* it has waited long enough to starve: in this very cycle */
	world_cycle(&w, 30);
	is(c, STATE_RUNNING);
	sched_release(w.s, q, 31);
	world_cycle(&w, 31);
	reserved_at(q, 200);
}

/* The same while others keep it from starting and nothing was freed. */
static void test_release_of_one_that_starves_at_once(void **state)
{
	(void)state;
	open_world(1);
	world_common(&w, 0, "nodes=1:ppn=8", 100);
	world_cycle(&w, 0);
	uint32_t head = world_common(&w, 1, "nodes=1:ppn=8", 50), held = world_common(&w, 1, "nodes=1:ppn=1", 50);
	sched_hold(w.s, held, 1);
	world_cycle(&w, 1);
	world_cycle(&w, 2);
	world_common(&w, 10, "nodes=1:ppn=8", 60);
	world_cycle(&w, 10);
	sched_release(w.s, held, 11);
	world_cycle(&w, 11);
	assert_int_equal(world_job(&w, held)->kind, KIND_STARVING);
	reserved_at(head, 100);
}

/* One that comes back has waited longer than those that came meanwhile. */
static void test_release_of_one_that_waited(void **state)
{
	(void)state;
	open_world(1);
	world_common(&w, 0, "nodes=1:ppn=8", 100);
	world_cycle(&w, 0);
	uint32_t first = world_common(&w, 1, "nodes=1:ppn=8", 50), second = world_common(&w, 1, "nodes=1:ppn=4", 500);
	world_cycle(&w, 1);
	sched_hold(w.s, first, 2);
	world_cycle(&w, 2);
	world_cycle(&w, 12);
	assert_int_equal(world_job(&w, second)->kind, KIND_STARVING);
	uint32_t third = world_common(&w, 20, "nodes=1:ppn=8", 9000);
	world_cycle(&w, 20);
	sched_release(w.s, first, 25);
	world_cycle(&w, 25);
	assert_int_equal(world_job(&w, first)->kind, KIND_STARVING);
	is(first, STATE_ALLOCATED);
	is(third, STATE_CANDIDATE);
}

static void test_delete(void **state)
{
	(void)state;
	open_world(1);
	uint32_t run = world_common(&w, 0, "nodes=1:ppn=8", 100);
	world_cycle(&w, 0);
	uint32_t wait = world_common(&w, 1, "nodes=1:ppn=8", 100), q = qos(1, "nodes=1:ppn=8", 100, 400),
		 held = world_common(&w, 1, "nodes=1:ppn=8", 100);
	world_cycle(&w, 1);
	sched_hold(w.s, held, 1);
	sched_delete(w.s, held, 2, NULL);
	sched_delete(w.s, q, 2, NULL);
	sched_delete(w.s, wait, 2, NULL);
	sched_delete(w.s, run, 2, NULL);
	for (uint32_t i = 0; i < 4; i++)
		is(i, STATE_DELETED);
	assert_int_equal(w.p->node[0].pieces.n, 0);
	assert_int_equal(sched_waiting(w.s), 0);
	uint32_t next = world_common(&w, 2, "nodes=1:ppn=8", 100);
	world_cycle(&w, 2);
	is(next, STATE_RUNNING);
}

/* A reserved job whose slot can no longer hold it is a candidate again: here the cycle came
 * late. */
static void test_slot_too_late(void **state)
{
	(void)state;
	open_world(1);
	world_common(&w, 0, "nodes=1:ppn=4", 100);
	world_cycle(&w, 0);
	uint32_t a = world_common(&w, 1, "nodes=1:ppn=8", 50), b = world_common(&w, 2, "nodes=1:ppn=8", 50);
	world_cycle(&w, 12);
	reserved_at(a, 100);
	reserved_at(b, 150);
	sched_finish(w.s, 0, 100, NULL);
	world_cycle(&w, 105); /* nobody woke it at 100 */
	is(a, STATE_RUNNING);
	assert_int_equal(world_last(&w, a, EVENT_START)->at, 155);
	reserved_at(b, 155);
}

/* Within the tolerance the slot still holds the walltime, and a promise is kept. */
static void test_late_within_tolerance(void **state)
{
	(void)state;
	open_world(1);
	w.c->settings.tolerance = 10;
	uint32_t r = world_common(&w, 0, "nodes=1:ppn=4", 100);
	world_cycle(&w, 0);
	uint32_t q = qos(1, "nodes=1:ppn=8", 90, 210);
	world_cycle(&w, 1);
	reserved_at(q, 110);
	sched_finish(w.s, r, 110, NULL);
	world_cycle(&w, 115);
	is(q, STATE_RUNNING);
	assert_int_equal(world_last(&w, q, EVENT_START)->at, 210);
}

/* Found by a property: best fit fails for mixed shapes where the search for a reservation
 * succeeds, at now. */
static void test_reservation_at_now_starts(void **state)
{
	(void)state;
	world_init(&w, "easy");
	world_add_nodes(&w, 2, 8);
	world_open(&w);
	uint32_t a = world_common(&w, 47, "nodes=n2:ppn=3", 29);
	world_cycle(&w, 47);
	uint32_t b = world_common(&w, 60, "nodes=1:ppn=3:e+1:ppn=4+1:ppn=2", 56);
	world_cycle(&w, 60);
	assert_true(world_job(&w, b)->state == STATE_RUNNING || plan_piece(w.p, b, 0)->start > 60);
	sched_finish(w.s, a, 76, NULL);
	world_cycle(&w, 76);
	is(b, STATE_RUNNING);
}

/* Time that was lost (a machine that slept, a server that was down): a place that has gone by is
 * not started in, where others may be now. */
static void test_place_gone_by(void **state)
{
	(void)state;
	open_patient(1, TIME_NEVER);
	uint32_t r = world_common(&w, 0, "nodes=1:ppn=8", 100);
	world_cycle(&w, 0);
	uint32_t q = qos(1, "nodes=1:ppn=1", 100, 500);
	world_cycle(&w, 1);
	reserved_at(q, 400);
	sched_overrun(w.s, r, 10002, 10000);
	world_cycle(&w, 10000);
	is(q, STATE_EXPIRED);
	is(r, STATE_RUNNING);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_qos_starts_now_when_idle),
		TEST(test_qos_keeps_its_promise),
		TEST(test_qos_not_yet_guaranteed_then_expires),
		TEST(test_qos_guaranteed_later),
		TEST(test_impossible_deadline_expires_at_once),
		TEST(test_tolerance_counts),
		TEST(test_starving_reserves),
		TEST(test_critical),
		TEST(test_starving_to_now),
		TEST(test_each_power_removes_what_it_names),
		TEST(test_victim_is_spared),
		TEST(test_victims_one_by_one),
		TEST(test_guarantee_counts_the_victims_time),
		TEST(test_guarantee_of_a_victim_in_time),
		TEST(test_victim_is_stopped_in_time),
		TEST(test_victim_loses_least),
		TEST(test_victim_of_none),
		TEST(test_no_other_power_removes_it),
		TEST(test_least_important_first),
		TEST(test_powers_only_when_new),
		TEST(test_power_over_a_job_that_is_starting),
		TEST(test_start_failure),
		TEST(test_node_down_and_up),
		TEST(test_overrun),
		TEST(test_endings_count),
		TEST(test_lengths_change),
		TEST(test_overrun_moves_a_guarantee),
		TEST(test_victim_is_not_an_overrun),
		TEST(test_hold_and_release),
		TEST(test_release_of_one_that_starves_at_once),
		TEST(test_release_of_one_that_waited),
		TEST(test_delete),
		TEST(test_slot_too_late),
		TEST(test_late_within_tolerance),
		TEST(test_reservation_at_now_starts),
		TEST(test_place_gone_by),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
