/*
 * test_migrate.c - running jobs that are moved to make room for one that is blocked by how they
 * lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/world.h"

enum { COST = 10, LONG = 1000 };

static int64_t cost_of(void *context, uint32_t job)
{
	const uint32_t *stays = context;

	return job == *stays ? -1 : COST;
}

/* Two nodes of four CPUs, two of each in use by a job that runs for long; the sum of what is
 * free is enough for four. */
struct halves {
	struct world w;
	uint32_t a, b;
	uint32_t stays; /* the job that can't be moved; JOB_NONE: both can */
};

static void halves_open_with(struct halves *h, const char *policy, enum job_kind kind, int64_t deadline)
{
	uint32_t filler;

	world_init(&h->w, policy);
	world_add_nodes(&h->w, 2, 4);
	world_open(&h->w);
	h->stays = JOB_NONE;
	sched_on_move(h->w.s, cost_of, &h->stays);
	h->a = world_submit(&h->w, 0, kind, "nodes=1:ppn=2", LONG, deadline, 0);
	world_cycle(&h->w, 0);
	filler = world_common(&h->w, 0, "nodes=1:ppn=2", LONG);
	world_cycle(&h->w, 0);
	h->b = world_common(&h->w, 0, "nodes=1:ppn=2", LONG);
	world_cycle(&h->w, 0);
	assert_int_equal(world_node(&h->w, h->a, 0), world_node(&h->w, filler, 0));
	assert_int_not_equal(world_node(&h->w, h->a, 0), world_node(&h->w, h->b, 0));
	sched_finish(h->w.s, filler, 1, NULL);
}

static void halves_open(struct halves *h, enum job_kind kind, int64_t deadline)
{
	halves_open_with(h, "oscar", kind, deadline);
}

static void moved_elsewhere(void **state)
{
	(void)state;
	struct halves h;
	uint32_t wide;
	int from, to;

	halves_open(&h, KIND_COMMON, TIME_NEVER);
	from = world_node(&h.w, h.a, 0);
	to = world_node(&h.w, h.b, 0);
	h.stays = h.b;
	wide = world_common(&h.w, 100, "nodes=1:ppn=4", 50);
	world_cycle(&h.w, 100);
	assert_int_equal(world_node(&h.w, wide, 0), from);
	assert_int_equal(world_job(&h.w, wide)->state, STATE_RUNNING);
	assert_int_equal(world_node(&h.w, h.a, 0), to);
	assert_int_equal(world_job(&h.w, h.a)->state, STATE_RUNNING);
	assert_int_equal(world_job(&h.w, h.a)->attempt, 2);
	assert_int_equal(world_count(&h.w, h.a, EVENT_PREEMPT), 1);
	assert_int_equal(world_last(&h.w, h.a, EVENT_PREEMPT)->by, wide);
	assert_int_equal(world_count(&h.w, h.b, EVENT_PREEMPT), 0);
	world_fini(&h.w);
}

/* One on several nodes goes with all of its parts. */
static void moved_with_all_parts(void **state)
{
	(void)state;
	struct world w;
	uint32_t stays = JOB_NONE, id[4], a, wide;

	world_init(&w, "oscar");
	world_add_nodes(&w, 3, 4);
	world_open(&w);
	sched_on_move(w.s, cost_of, &stays);
	const char *const request[] = {"nodes=1:ppn=2", "nodes=2:ppn=2", "nodes=1:ppn=2", "nodes=1:ppn=2"};
	for (int i = 0; i < 4; i++) {
		id[i] = world_common(&w, 0, request[i], LONG);
		world_cycle(&w, 0);
	}
	a = id[1];
	stays = id[3];
	assert_int_not_equal(world_node(&w, a, 0), world_node(&w, a, 1));
	sched_finish(w.s, id[0], 1, NULL);
	sched_finish(w.s, id[2], 1, NULL);
	wide = world_common(&w, 100, "nodes=1:ppn=4", 50);
	world_cycle(&w, 100);
	assert_int_equal(world_job(&w, wide)->state, STATE_RUNNING);
	assert_int_equal(world_job(&w, a)->state, STATE_RUNNING);
	assert_int_equal(world_job(&w, a)->attempt, 2);
	assert_int_equal(world_count(&w, stays, EVENT_PREEMPT), 0);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_not_equal(world_node(&w, a, i), world_node(&w, wide, 0));
	world_fini(&w);
}

/* It may not have run long enough for another move, or end soon, so that a move would cost more
 * than waiting. */
static void not_worth_it(void **state)
{
	(void)state;
	int64_t at[] = {COST - 1, LONG - 2 * COST + 1};

	for (int i = 0; i < 2; i++) {
		struct halves h;
		halves_open(&h, KIND_COMMON, TIME_NEVER);
		uint32_t wide = world_common(&h.w, at[i], "nodes=1:ppn=4", 50);
		world_cycle(&h.w, at[i]);
		assert_int_equal(world_job(&h.w, wide)->state, STATE_CANDIDATE);
		assert_int_equal(world_count(&h.w, h.a, EVENT_PREEMPT) + world_count(&h.w, h.b, EVENT_PREEMPT), 0);
		world_fini(&h.w);
	}
}

/* Time alone lets it be moved: the scheduler wakes for it. */
static void soon_worth_it(void **state)
{
	(void)state;
	struct halves h;

	halves_open(&h, KIND_COMMON, TIME_NEVER);
	uint32_t wide = world_common(&h.w, 5, "nodes=1:ppn=4", 50);
	world_cycle(&h.w, 5);
	assert_int_equal(world_job(&h.w, wide)->state, STATE_CANDIDATE);
	assert_int_equal(sched_next_wake(h.w.s), COST);
	world_cycle(&h.w, COST);
	assert_int_equal(world_job(&h.w, wide)->state, STATE_RUNNING);
	world_fini(&h.w);
}

static void who_has_a_deadline_stays(void **state)
{
	(void)state;
	struct halves h;
	uint32_t wide;

	halves_open(&h, KIND_QOS, 3 * LONG);
	h.stays = h.b;
	wide = world_common(&h.w, 100, "nodes=1:ppn=4", 50);
	world_cycle(&h.w, 100);
	assert_int_equal(world_job(&h.w, wide)->state, STATE_CANDIDATE);
	assert_int_equal(world_count(&h.w, h.a, EVENT_PREEMPT), 0);
	world_fini(&h.w);
}

/* The one that was moved has its place, so that the second finds none. */
static void one_move_for_each(void **state)
{
	(void)state;
	struct halves h;
	uint32_t first, second;

	halves_open(&h, KIND_COMMON, TIME_NEVER);
	first = world_common(&h.w, 100, "nodes=1:ppn=4", 50);
	second = world_common(&h.w, 100, "nodes=1:ppn=4", 50);
	world_cycle(&h.w, 100);
	assert_int_equal(world_job(&h.w, first)->state, STATE_RUNNING);
	assert_int_equal(world_job(&h.w, second)->state, STATE_CANDIDATE);
	assert_int_equal(world_count(&h.w, h.a, EVENT_PREEMPT) + world_count(&h.w, h.b, EVENT_PREEMPT), 1);
	world_fini(&h.w);
}

/* What was learnt of the nodes while nothing could be moved says nothing once something can. */
static void allowed_within_the_same_second(void **state)
{
	(void)state;
	struct halves h;
	uint32_t wide;

	halves_open_with(&h, "fcfs", KIND_COMMON, TIME_NEVER);
	sched_on_move(h.w.s, NULL, NULL);
	wide = world_common(&h.w, 100, "nodes=1:ppn=4", 50);
	world_cycle(&h.w, 100);
	assert_int_equal(world_job(&h.w, wide)->state, STATE_CANDIDATE);
	sched_on_move(h.w.s, cost_of, &h.stays);
	sched_refresh(h.w.s);
	world_cycle(&h.w, 100);
	assert_int_equal(world_job(&h.w, wide)->state, STATE_RUNNING);
	world_fini(&h.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moved_elsewhere),
		cmocka_unit_test(moved_with_all_parts),
		cmocka_unit_test(not_worth_it),
		cmocka_unit_test(soon_worth_it),
		cmocka_unit_test(allowed_within_the_same_second),
		cmocka_unit_test(who_has_a_deadline_stays),
		cmocka_unit_test(one_move_for_each),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
