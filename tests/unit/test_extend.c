/*
 * test_extend.c - a running job with another walltime: whom it may delay, and what the plan makes
 * of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/rng.h"
#include "support/ring.h"
#include "support/world.h"

static struct world w;

static int teardown(void **state)
{
	(void)state;
	world_fini(&w);
	return 0;
}

static void open_world(const char *policy, int nodes)
{
	world_init(&w, policy);
	world_add_nodes(&w, nodes, 8);
	world_open(&w);
}

static int64_t end_of(uint32_t job)
{
	return plan_piece(w.p, job, 0)->end;
}

static void set_end(uint32_t job, int64_t walltime, int64_t now)
{
	struct job *j = world_job(&w, job);

	j->walltime = walltime;
	sched_set_end(w.s, job, j->start + walltime, now);
	plan_check(w.p);
}

/* Nobody waits: as long as it likes. */
static void test_alone(void **state)
{
	struct obstacle o;

	(void)state;
	open_world("easy", 1);
	uint32_t a = world_common(&w, 0, "nodes=1:ppn=8", 100);
	world_cycle(&w, 0);
	assert_true(sched_may_extend(w.s, a, 1000, 10, &o));
	assert_int_equal(end_of(a), 100); /* it was only a question */
	set_end(a, 1000, 10);
	assert_int_equal(end_of(a), 1000);
	assert_int_equal(world_last(&w, a, EVENT_MIGRATE)->at, 1000);
}

/* Shorter: what it frees is used at once. */
static void test_shorter(void **state)
{
	(void)state;
	open_world("easy", 1);
	uint32_t a = world_common(&w, 0, "nodes=1:ppn=4", 1000), b = world_common(&w, 0, "nodes=1:ppn=8", 100),
		 c = world_common(&w, 0, "nodes=1:ppn=4", 500);
	world_cycle(&w, 0);
	assert_int_equal(world_job(&w, c)->state, STATE_RUNNING);
	assert_int_equal(plan_piece(w.p, b, 0)->start, 1000);
	set_end(a, 200, 10);
	world_cycle(&w, 10);
	assert_int_equal(end_of(a), 200);
	assert_int_equal(plan_piece(w.p, b, 0)->start, 500); /* the end of c */
}

/* The head of the queue has reserved: it is named, and until when there is room. */
static void test_reserved(void **state)
{
	struct obstacle o;

	(void)state;
	open_world("easy", 1);
	uint32_t a = world_common(&w, 0, "nodes=1:ppn=4", 100), b = world_common(&w, 0, "nodes=1:ppn=4", 150),
		 head = world_common(&w, 0, "nodes=1:ppn=8", 100);
	world_cycle(&w, 0);
	assert_int_equal(plan_piece(w.p, head, 0)->start, 150);
	assert_true(sched_may_extend(w.s, a, 150, 10, &o));
	assert_false(sched_may_extend(w.s, a, 151, 10, &o));
	assert_int_equal(o.job, head);
	assert_int_equal(o.until, 150);
	assert_false(sched_may_extend(w.s, b, 151, 10, &o));
	assert_int_equal(o.job, head);
	assert_int_equal(o.until, 150);
}

/* A promise stands in the way; with the power for it, it is broken, and made again where there
 * is room. */
static void test_promised(void **state)
{
	struct obstacle o;

	(void)state;
	open_world("oscar", 1);
	uint32_t a = world_common(&w, 0, "nodes=1:ppn=8", 100);
	world_cycle(&w, 0);
	uint32_t q = world_submit(&w, 1, KIND_QOS, "nodes=1:ppn=8", 100, 500, 0);
	world_cycle(&w, 1);
	assert_true(sched_may_extend(w.s, a, 400, 10, &o));
	assert_false(sched_may_extend(w.s, a, 450, 10, &o));
	assert_int_equal(o.job, q);
	assert_int_equal(o.until, 400);
	set_end(a, 450, 10);
	assert_int_equal(end_of(a), 450);
	assert_int_equal(world_job(&w, q)->state, STATE_CANDIDATE);
	assert_int_equal(world_last(&w, q, EVENT_DEALLOCATE)->by, a);
}

/* Reserved on its node, while another has room at that time. */
static void test_elsewhere(void **state)
{
	struct obstacle o;

	(void)state;
	open_world("oscar", 2);
	uint32_t a = world_common(&w, 0, "nodes=n1:ppn=8", 100), b = world_common(&w, 0, "nodes=n2:ppn=8", 390);
	world_cycle(&w, 0);
	uint32_t q = world_submit(&w, 1, KIND_QOS, "nodes=1:ppn=8", 100, 500, 0);
	world_cycle(&w, 1);
	assert_int_equal(world_job(&w, q)->start, 400);
	uint32_t there = (uint32_t)world_node(&w, q, 0) == 1 ? a : b, other = there == a ? 2 : 1;
	assert_true(sched_may_extend(w.s, there, 1000, 10, &o));
	set_end(there, 1000, 10);
	assert_int_equal(world_job(&w, q)->state, STATE_ALLOCATED);
	assert_int_equal(world_job(&w, q)->start, 400);
	assert_int_equal(world_node(&w, q, 0), other);
	assert_false(sched_may_extend(w.s, there == a ? b : a, 1000, 10, &o));
	assert_int_equal(o.job, q);
}

/* An emergency job is to have its place: that stays so. */
static void test_victim(void **state)
{
	struct obstacle o;

	(void)state;
	open_world("oscar", 1);
	uint32_t a = world_common(&w, 0, "nodes=1:ppn=8", 1000);
	world_cycle(&w, 0);
	uint32_t e = world_submit(&w, 1, KIND_EMERGENCY, "nodes=1:ppn=8", 100, 500, POWER_C_EXEC);
	world_cycle(&w, 1);
	assert_int_equal(end_of(a), 400);
	assert_false(sched_may_extend(w.s, a, 2000, 10, &o));
	assert_int_equal(o.job, e);
	assert_int_equal(o.until, 400);
	set_end(a, 2000, 10);
	assert_int_equal(end_of(a), 400);
	sched_delete(w.s, e, 20, NULL);
	world_cycle(&w, 20);
	assert_int_equal(end_of(a), 2000); /* it is spared, for as long as it may run now */
	set_end(a, 300, 30);
	assert_int_equal(end_of(a), 300);
}

/* Random clusters: a question changes nothing, and what it says is so. */

static void random_case(uint64_t seed)
{
	static const char *const some[] = {"easy", "conservative", "oscar", "shunt", "fcfs"};
	int nodes = 1 + (int)(seed % 3);
	struct rng r;
	int64_t now = 0;
	uint32_t n = 0, pick = 0;
	struct obstacle o;

	rng_seed(&r, seed);
	world_init(&w, some[rng_next(&r) % 5]);
	world_add_nodes(&w, nodes, 8);
	if (nodes > 1 && rng_next(&r) % 2)
		ring_join(w.c, 0, 1);
	world_open(&w);
	for (int i = 0; i < 12; i++) {
		char text[32];
		snprintf(text, sizeof text, "nodes=%d:ppn=%d%s", 1 + (int)(rng_next(&r) % 2),
			 1 + (int)(rng_next(&r) % 8),
			 rng_next(&r) % 4   ? ""
			 : rng_next(&r) % 2 ? ",place=excl"
					    : ",place=exclhost");
		if (rng_next(&r) % 4 == 0 && w.policy.deadlines)
			n = world_submit(&w, now, KIND_QOS, text, 10 + (int64_t)(rng_next(&r) % 100),
					 now + 200 + (int64_t)(rng_next(&r) % 400), 0);
		else
			n = world_common(&w, now, text, 10 + (int64_t)(rng_next(&r) % 300));
		world_cycle(&w, now);
		now += (int64_t)(rng_next(&r) % 3);
	}
	for (uint32_t id = 1; id <= n; id++) /* ids begin at 1, or at 0 */
		if (world_job(&w, id)->state == STATE_RUNNING && end_of(id) > now && (!pick || rng_next(&r) % 2))
			pick = id;
	if (!pick)
		return;

	struct plan *before = plan_clone(w.p);
	int64_t end = end_of(pick), until = end + 1 + (int64_t)(rng_next(&r) % 400);
	bool may = sched_may_extend(w.s, pick, until, now, &o);
	VEC(int64_t) starts = {0};

	plan_advance(before, now);
	assert_true(plan_equal(before, w.p));
	if (!may) {
		assert_true(o.until >= end && o.until < until);
		assert_true(o.job != JOB_NONE && o.job != pick);
		until = o.until;
		assert_true(sched_may_extend(w.s, pick, until, now, &o));
	}
	for (uint32_t id = 0; id <= n; id++)
		vec_push(&starts, plan_holds(w.p, id) ? plan_piece(w.p, id, 0)->start : 0);
	if (until > end) {
		size_t events = w.record.n;
		world_job(&w, pick)->walltime += until - end;
		sched_set_end(w.s, pick, until, now);
		plan_check(w.p);
		assert_int_equal(end_of(pick), until);
		for (; events < w.record.n; events++)
			assert_int_not_equal(w.record.v[events].e.type, EVENT_DEALLOCATE);
		for (uint32_t id = 0; id <= n; id++)
			if (id != pick)
				assert_int_equal(plan_holds(w.p, id) ? plan_piece(w.p, id, 0)->start : 0, starts.v[id]);
	}
	set_end(pick, world_job(&w, pick)->walltime + 300, now); /* the job in the way */
	assert_true(end_of(pick) >= until);
	world_cycle(&w, now);
	vec_free(&starts);
	plan_destroy(before);
}

static void test_random(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		random_case(seed);
		if (seed < 2000)
			world_fini(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_alone, teardown),     cmocka_unit_test_teardown(test_shorter, teardown),
		cmocka_unit_test_teardown(test_reserved, teardown),  cmocka_unit_test_teardown(test_promised, teardown),
		cmocka_unit_test_teardown(test_elsewhere, teardown), cmocka_unit_test_teardown(test_victim, teardown),
		cmocka_unit_test_teardown(test_random, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
