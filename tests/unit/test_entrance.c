/*
 * test_entrance.c - interactive jobs that displace others (sched/entrance.h): whom, for how long,
 * and why not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rules/partition.h"
#include "sched/entrance.h"
#include "sim/machine.h"
#include "support/world.h"

static struct world w;
static struct yield yields[64]; /* by job */

static struct yield yield_of(void *context, uint32_t job)
{
	return yields[job];
}

static void open_world(const char *machine)
{
	struct err err;

	world_init(&w, "artaras");
	if (machine_build(w.c, machine, &err) != 0)
		fail_msg("%s", err.text);
	world_open(&w);
	memset(yields, 0, sizeof yields);
	sched_on_yield(w.s, yield_of, NULL);
}

/* A job in STATE_NEW: of `procs` CPUs, in a partition where there are some. */
static struct job *job_new(int64_t procs, int64_t walltime)
{
	struct partition_ask ask = {.any = true, .procs = w.c->partitions.n ? procs : 0};
	struct partition_choice got;
	struct job *job;
	uint32_t request;
	struct err err;

	if (w.c->partitions.n)
		assert_int_equal(partition_choose(w.c, &ask, &got, NULL), 0);
	else if (cluster_request_procs(w.c, procs, &request, &err) != 0)
		fail_msg("%s", err.text);
	job = cluster_add_job(w.c);
	job->request = w.c->partitions.n ? partition_request(w.c, &got) : request;
	job->allowed = w.c->partitions.n ? got.allowed : NODES_ALL;
	job->walltime = walltime;
	job->deadline = TIME_NEVER;
	return job;
}

static uint32_t come(struct job *job, int64_t now)
{
	sched_submit(w.s, job->id, now);
	world_cycle(&w, now);
	return job->id;
}

static uint32_t normal(int64_t now, int64_t procs, int64_t walltime)
{
	return come(job_new(procs, walltime), now);
}

static uint32_t priority(int64_t now, int64_t walltime, int64_t deadline)
{
	struct job *job = job_new(0, walltime);

	job->kind = KIND_QOS;
	job->deadline = deadline;
	return come(job, now);
}

/* What is foretold of an interactive job must be what becomes of it. */
static struct entrance interactive(int64_t now, int64_t procs, int64_t walltime, uint32_t *ret)
{
	struct job *job = job_new(procs, walltime);
	struct entrance e;
	size_t records = w.record.n;
	uint64_t version = w.p->version;

	job->kind = KIND_EMERGENCY;
	job->interactive = true;
	job->deadline = now + walltime;
	world_cycle(&w, now);
	sched_entrance(w.s, job->id, now, &e);
	assert_true(w.record.n >= records && w.p->version >= version);
	come(job, now);
	assert_int_equal(job->state, e.way <= ENTRANCE_DISPLACES ? STATE_RUNNING : STATE_EXPIRED);
	for (size_t i = 0; i < e.victims.n; i++)
		assert_int_equal(world_job(&w, e.victims.v[i])->by, job->id);
	for (uint32_t i = 0, n = 0; i < w.c->jobs.n; i++) {
		n += world_count(&w, i, EVENT_PREEMPT) > 0 && world_last(&w, i, EVENT_PREEMPT)->by == job->id;
		assert_true(n <= e.victims.n);
	}
	if (ret)
		*ret = job->id;
	return e;
}

static void its_place_lasts_until_the_other_is_gone(void **state)
{
	open_world("parts:4");
	uint32_t a = normal(0, 0, 100), i;
	yields[a].takes = 7;
	struct entrance e = interactive(10, 0, 20, &i);

	assert_int_equal(e.way, ENTRANCE_DISPLACES);
	assert_int_equal(e.takes, 7);
	assert_int_equal(plan_piece(w.p, i, 0)->end, 37); /* 10 + 7 + 20 */
	assert_int_equal(sched_planned(w.s, a), 37);
	entrance_fini(&e);
	world_fini(&w);
}

static void a_running_job_with_a_deadline_is_displaced_if_it_is_kept(void **state)
{
	open_world("parts:4");
	uint32_t p = priority(0, 30, 70);
	struct entrance e = interactive(10, 0, 20, NULL);

	assert_int_equal(e.way, ENTRANCE_DISPLACES);
	assert_int_equal(sched_planned(w.s, p), 30);
	entrance_fini(&e);
	world_fini(&w);
}

static void none_is_displaced_whose_deadline_would_break(void **state)
{
	for (int breaks = 0; breaks < 2; breaks++) {
		open_world("parts:4");
		w.c->settings.interactive_breaks = breaks;
		uint32_t p = priority(0, 30, 55);
		struct entrance e = interactive(10, 0, 20, NULL);

		assert_int_equal(e.way, breaks ? ENTRANCE_DISPLACES : ENTRANCE_GUARANTEED);
		if (!breaks)
			assert_int_equal(e.job, p);
		assert_int_equal(world_job(&w, p)->state, breaks ? STATE_ALLOCATED : STATE_RUNNING);
		entrance_fini(&e);
		world_fini(&w);
	}
}

static void a_waiting_deadline_is_not_broken_either(void **state)
{
	for (int breaks = 0; breaks < 2; breaks++) {
		open_world("parts:4");
		w.c->settings.interactive_breaks = breaks;
		normal(0, 0, 10);
		uint32_t p = priority(1, 10, 20);
		struct entrance e = interactive(2, 0, 10, NULL);

		assert_int_equal(e.way, breaks ? ENTRANCE_DISPLACES : ENTRANCE_GUARANTEED);
		assert_int_equal(sched_planned(w.s, p), breaks ? 12 : 10); /* before the one that was displaced */
		entrance_fini(&e);
		world_fini(&w);
	}
}

static void only_what_is_in_the_way_is_named(void **state)
{
	open_world("parts:4,8");
	uint32_t small = normal(0, 4, 100), large = normal(5, 8, 100);
	struct entrance e;

	yields[small].from = yields[large].from = TIME_NEVER;
	e = interactive(10, 8, 20, NULL);
	assert_int_equal(e.way, ENTRANCE_UNAVAILABLE);
	assert_int_equal(e.job, large);
	entrance_fini(&e);
	world_fini(&w);
}

static void one_that_may_not_be_stopped_stays(void **state)
{
	open_world("parts:4,4");
	uint32_t a = normal(0, 0, 100), b = normal(5, 0, 100);
	struct entrance e;

	yields[a].from = 50;
	e = interactive(10, 0, 20, NULL); /* the next best */
	assert_int_equal(e.way, ENTRANCE_DISPLACES);
	assert_int_equal(e.victims.v[0], b);
	entrance_fini(&e);
	e = interactive(11, 0, 20, NULL); /* now the other one is interactive */
	assert_int_equal(e.way, ENTRANCE_UNAVAILABLE);
	assert_int_equal(e.job, a);
	assert_int_equal(e.from, 50);
	entrance_fini(&e);
	e = interactive(60, 0, 20, NULL);
	assert_int_equal(e.way, ENTRANCE_DISPLACES); /* now it may */
	assert_int_equal(e.victims.v[0], a);
	entrance_fini(&e);
	world_fini(&w);
}

static void interactive_jobs_are_not_displaced(void **state)
{
	open_world("parts:4");
	struct entrance e = interactive(0, 0, 20, NULL);

	assert_int_equal(e.way, ENTRANCE_FREE);
	entrance_fini(&e);
	e = interactive(1, 0, 20, NULL);
	assert_int_equal(e.way, ENTRANCE_FULL);
	entrance_fini(&e);
	world_fini(&w);
}

static void on_shared_nodes_as_few_as_are_enough(void **state)
{
	open_world("nodes:2x4");
	uint32_t a = normal(0, 2, 100), b = normal(0, 1, 200), c = normal(0, 4, 400), d = normal(10, 1, 1000);
	struct entrance e = interactive(20, 1, 10, NULL); /* a has run 20% */

	assert_int_equal(e.victims.n, 1);
	assert_int_equal(e.victims.v[0], a);
	entrance_fini(&e);
	world_fini(&w);

	open_world("nodes:2x4");
	a = normal(0, 2, 100), b = normal(0, 1, 200), c = normal(0, 4, 400), d = normal(10, 1, 1000);
	yields[b].takes = 3;
	yields[c].takes = 30;
	e = interactive(20, 4, 10, NULL); /* c is enough by itself; of the others three would be needed */
	assert_int_equal(e.victims.n, 1);
	assert_int_equal(e.victims.v[0], c);
	assert_int_equal(e.takes, 30);
	entrance_fini(&e);
	world_fini(&w);

	open_world("nodes:1x4");
	a = normal(0, 1, 100), b = normal(0, 1, 200), c = normal(0, 1, 400), d = normal(10, 1, 1000);
	yields[b].takes = 3;
	e = interactive(20, 2, 10, NULL);
	assert_int_equal(e.victims.n, 2);
	assert_int_equal(e.victims.v[0], a);
	assert_int_equal(e.victims.v[1], b);
	assert_int_equal(e.takes, 3);
	assert_int_equal(world_job(&w, c)->state, STATE_RUNNING);
	assert_int_equal(world_job(&w, d)->state, STATE_RUNNING);
	entrance_fini(&e);
	world_fini(&w);
}

static void counting_begins_at_the_last_start(void **state)
{
	open_world("parts:4,4");
	uint32_t a = normal(0, 0, 100), b = normal(10, 0, 100), i;
	struct entrance e = interactive(40, 0, 5, &i); /* a has run longer */

	assert_int_equal(e.victims.v[0], a);
	entrance_fini(&e);
	sched_finish(w.s, i, 45, NULL);
	world_cycle(&w, 45);
	assert_int_equal(world_job(&w, a)->state, STATE_RUNNING);
	e = interactive(50, 0, 5, NULL); /* a has run 5 s since, b 40 s */
	assert_int_equal(e.victims.v[0], b);
	entrance_fini(&e);
	world_fini(&w);
}

#define MONDAY INT64_C(345600) /* 1970-01-05 00:00 UTC */
#define HOUR INT64_C(3600)

static void open_nights(const char *hours)
{
	struct err err;

	open_world("parts:4,4");
	if (hours_read(hours, &w.c->settings.nights, &err) < 0)
		fail_msg("%s", err.text);
	w.c->settings.long_saving = 60;
}

static uint32_t saving(int64_t now, int64_t walltime, int64_t seconds)
{
	struct job *job = job_new(0, walltime);

	job->saving = seconds;
	return come(job, now);
}

/* Those whose checkpoints take long wait for their hours, the others don't. */
static void nights_are_waited_for(void **state)
{
	open_nights("19:00-07:00");
	uint32_t quick = saving(MONDAY + 8 * HOUR, HOUR, 60), slow = saving(MONDAY + 8 * HOUR, 2 * HOUR, 61);

	assert_int_equal(world_job(&w, quick)->state, STATE_RUNNING);
	assert_int_equal(sched_planned(w.s, slow), MONDAY + 19 * HOUR);
	assert_int_equal(sched_next_wake(w.s), MONDAY + 19 * HOUR);
	world_cycle(&w, MONDAY + 19 * HOUR);
	assert_int_equal(world_job(&w, slow)->state, STATE_RUNNING);
	/* What is left of the night is not enough for another: it does not begin. */
	uint32_t late = saving(MONDAY + 30 * HOUR, 2 * HOUR, 61);
	assert_int_equal(sched_planned(w.s, late), MONDAY + 43 * HOUR);
	/* A deadline that can't be met then is not guaranteed. */
	struct job *job = job_new(0, HOUR);
	job->saving = 61;
	job->kind = KIND_QOS;
	job->deadline = MONDAY + 40 * HOUR;
	come(job, MONDAY + 32 * HOUR);
	assert_false(job->guaranteed);
	world_fini(&w);
}

/* One that is longer than any night is stopped in time to save its work, and resumes in the
 * next. */
static void long_jobs_take_several_nights(void **state)
{
	open_nights("19:00-07:00");
	uint32_t a = saving(MONDAY + 20 * HOUR, 30 * HOUR, 600);

	assert_int_equal(world_job(&w, a)->state, STATE_RUNNING);
	assert_int_equal(world_last(&w, a, EVENT_START)->at, MONDAY + 31 * HOUR);
	assert_int_equal(sched_next_wake(w.s), MONDAY + 31 * HOUR - 600);
	world_cycle(&w, MONDAY + 31 * HOUR - 600);
	assert_int_equal(world_job(&w, a)->state, STATE_CANDIDATE);
	assert_int_equal(world_last(&w, a, EVENT_PREEMPT)->at, MONDAY + 31 * HOUR);
	assert_int_equal(sched_planned(w.s, a), MONDAY + 43 * HOUR);
	world_cycle(&w, MONDAY + 43 * HOUR);
	assert_int_equal(world_job(&w, a)->state, STATE_RUNNING);
	sched_finish(w.s, a, MONDAY + 44 * HOUR, NULL);
	world_cycle(&w, MONDAY + 55 * HOUR - 600); /* nobody is there to be stopped */
	assert_int_equal(world_count(&w, a, EVENT_PREEMPT), 1);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_place_lasts_until_the_other_is_gone),
		cmocka_unit_test(a_running_job_with_a_deadline_is_displaced_if_it_is_kept),
		cmocka_unit_test(none_is_displaced_whose_deadline_would_break),
		cmocka_unit_test(a_waiting_deadline_is_not_broken_either),
		cmocka_unit_test(only_what_is_in_the_way_is_named),
		cmocka_unit_test(one_that_may_not_be_stopped_stays),
		cmocka_unit_test(interactive_jobs_are_not_displaced),
		cmocka_unit_test(on_shared_nodes_as_few_as_are_enough),
		cmocka_unit_test(counting_begins_at_the_last_start),
		cmocka_unit_test(nights_are_waited_for),
		cmocka_unit_test(long_jobs_take_several_nights),
	};

	setenv("TZ", "UTC", 1);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
