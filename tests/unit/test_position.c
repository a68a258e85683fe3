/*
 * test_position.c - deadlines kept by position in the queue (policy artaras): schedules computed by
 * hand from section 5.4 of the Artaras thesis, and from 2.2.1 and 2.2.3.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "rules/partition.h"
#include "sched/explain.h"
#include "sched/forecast.h"
#include "sim/machine.h"
#include "sim/sim.h"
#include "support/world.h"

static struct world w;

static void open_world(const char *machine)
{
	struct err err;

	world_init(&w, "artaras");
	if (machine_build(w.c, machine, &err) != 0)
		fail_msg("%s", err.text);
	world_open(&w);
}

/* Submits a job that is to run in a partition, and decides. */
static uint32_t submit(int64_t now, const char *partition, int64_t procs, int64_t walltime, int64_t deadline,
		       int64_t nice)
{
	struct partition_ask ask = {.name = partition, .any = true, .procs = procs};
	struct partition_choice got;
	struct job *job;

	assert_int_equal(partition_choose(w.c, &ask, &got, NULL), 0);
	job = cluster_add_job(w.c);
	job->request = partition_request(w.c, &got);
	job->allowed = got.allowed;
	job->walltime = walltime;
	job->kind = deadline == TIME_NEVER ? KIND_COMMON : KIND_QOS;
	job->deadline = deadline;
	job->nice = nice;
	sched_submit(w.s, job->id, now);
	world_cycle(&w, now);
	return job->id;
}

static uint32_t normal(int64_t now, int64_t walltime)
{
	return submit(now, NULL, 0, walltime, TIME_NEVER, 0);
}

static uint32_t priority(int64_t now, int64_t walltime, int64_t deadline)
{
	return submit(now, NULL, 0, walltime, deadline, 0);
}

static void starts(uint32_t job, int64_t at)
{
	assert_int_equal(sched_planned(w.s, job), at);
}

static void runs(uint32_t job)
{
	assert_int_equal(world_job(&w, job)->state, STATE_RUNNING);
}

static void finish(uint32_t job, int64_t now)
{
	sched_finish(w.s, job, now, NULL);
	world_cycle(&w, now);
}

/* Outside partitions, a place is not searched for again while nothing changes where it is, and the
 * sum shows no room before it. */
static void settled_places_stay(void **state)
{
	uint32_t wide, narrow[2], waits[3];
	uint64_t attempts;

	(void)state;
	world_init(&w, "artaras");
	world_add_nodes(&w, 3, 4);
	world_open(&w);
	wide = world_common(&w, 0, "nodes=2:ppn=4", 1000);
	for (int i = 0; i < 2; i++)
		narrow[i] = world_common(&w, 0, "ncpus=2", 500);
	world_cycle(&w, 0);
	for (int i = 0; i < 3; i++)
		waits[i] = world_common(&w, 1, "nodes=3:ppn=4", 100);
	world_cycle(&w, 1);
	finish(narrow[0], 10); /* the first time all are placed again */
	attempts = w.p->attempts;
	finish(narrow[1], 20);
	assert_int_equal(w.p->attempts, attempts);
	for (int i = 0; i < 3; i++)
		starts(waits[i], 1000 + 100 * i);
	finish(wide, 30);
	runs(waits[0]);
	starts(waits[1], 130);
	starts(waits[2], 230);
	world_fini(&w);
}

static void normal_jobs_follow_each_other(void **state)
{
	(void)state;
	open_world("parts:4");
	uint32_t a = normal(0, 10), b = normal(1, 20), c = normal(2, 5);

	runs(a);
	starts(b, 10); /* the completion of its predecessor */
	starts(c, 30);
	finish(a, 7);
	runs(b);
	starts(c, 27);
	world_fini(&w);
}

static void a_deadline_that_is_met_moves_nobody(void **state)
{
	(void)state;
	open_world("parts:4");
	normal(0, 10);
	uint32_t b = normal(0, 20), p = priority(0, 5, 35);

	starts(b, 10);
	starts(p, 30);
	assert_true(world_job(&w, p)->guaranteed);
	world_fini(&w);
}

static void a_deadline_moves_up_only_as_far_as_it_must(void **state)
{
	(void)state;
	open_world("parts:4");
	normal(0, 10);
	uint32_t b = normal(0, 20), c = normal(0, 20), d = normal(0, 20), p = priority(0, 5, 40);

	starts(b, 10);
	starts(p, 30); /* behind b: 30 + 5 <= 40; behind c it would end at 55 */
	starts(c, 35);
	starts(d, 55);
	assert_true(world_job(&w, p)->guaranteed);
	world_fini(&w);
}

static void those_that_are_passed_are_moved_up_in_turn(void **state)
{
	(void)state;
	open_world("parts:4");
	normal(0, 10);
	uint32_t b = normal(0, 20), p = priority(0, 5, 36), q = priority(0, 5, 34);

	/* q does not meet its deadline behind p (35..40), but before it (30..35 > 34) neither;
	 * before b it does: 10..15. Then b 15..35, and p would end at 40: it is moved up before
	 * b, behind q. */
	starts(q, 10);
	starts(p, 15);
	starts(b, 20);
	assert_true(world_job(&w, p)->guaranteed && world_job(&w, q)->guaranteed);
	world_fini(&w);
}

static void removal_returns_them_to_their_positions(void **state)
{
	(void)state;
	open_world("parts:4");
	normal(0, 10);
	uint32_t first = normal(0, 10), b = normal(0, 10), c = normal(0, 20), p = priority(0, 5, 50);

	starts(p, 30); /* before c */
	starts(c, 35);
	sched_delete(w.s, b, 1, NULL);
	world_cycle(&w, 1);
	starts(first, 10); /* no later than before, and no earlier */
	starts(c, 20);
	starts(p, 40); /* behind c again: 45 <= 50 */
	world_fini(&w);
}

static void a_deadline_that_cannot_be_met(void **state)
{
	(void)state;
	open_world("parts:4");
	uint32_t a = normal(0, 10), b = normal(0, 20), p = priority(0, 5, 15), q = priority(0, 5, 16);

	starts(p, 10);
	assert_true(world_job(&w, p)->guaranteed);
	/* Both can't be done by 16: with the running job displaced, q at 5 is before p. */
	assert_true(world_job(&w, q)->guaranteed);
	starts(q, 5);
	starts(p, 10);
	starts(b, 25); /* the displaced job is from 15 on */

	uint32_t r =
		priority(1, 4, 5); /* at once, in the place of the running job; q and p follow, then that job again */
	runs(r);
	starts(q, 5);
	starts(a, 15);
	starts(b, 25);

	uint32_t t = priority(2, 20, 16); /* no place at all: as soon as possible, ahead of the normal jobs */
	assert_false(world_job(&w, t)->guaranteed);
	starts(t, 15);
	starts(a, 35);
	starts(b, 45);
	world_fini(&w);
}

/* A job that moves others, or removes them, does not put it behind normal jobs. */
static void a_late_job_stays_ahead(void **state)
{
	(void)state;
	open_world("parts:4");
	uint32_t a = normal(0, 100), b = normal(0, 20), c = normal(0, 30), p = priority(1, 10, 5), d = normal(2, 40);

	runs(a);
	starts(p, 100);
	starts(b, 110);
	starts(d, 160);
	world_job(&w, d)->rank = -1;
	sched_rank(w.s);
	world_cycle(&w, 3);
	starts(p, 100);
	starts(d, 110);
	starts(b, 150);
	starts(c, 170);
	sched_delete(w.s, b, 4, NULL);
	world_cycle(&w, 4);
	starts(p, 100);
	starts(d, 110);
	starts(c, 150);
	world_fini(&w);
}

static void number_job(void *context, uint32_t job, struct strbuf *out)
{
	strbuf_printf(out, "%u", job);
}

static void why(uint32_t job, const char *want)
{
	struct strbuf text = {0};
	struct reason r;

	sched_explain(w.s, job, &r);
	reason_text(w.s, job, &r, number_job, NULL, &text);
	assert_string_equal(text.text, want);
	strbuf_fini(&text);
	reason_fini(&r);
}

/* Jobs in partitions that do not suit it are not in its way; and a deadline that can't be met is
 * not said to be. */
static void what_keeps_it_waiting(void **state)
{
	(void)state;
	open_world("parts:4,8");
	uint32_t a = submit(0, "A", 0, 100, TIME_NEVER, 0), b = submit(0, "B", 0, 50, TIME_NEVER, 0), p, q;
	char want[300];

	runs(b);
	p = submit(1, "A", 0, 10, 5, 0);
	q = submit(1, "A", 0, 10, 300, 0);
	snprintf(
		want, sizeof want,
		"it needs a partition to itself, and no suitable one is free; held by job %u, which is planned to end in 1m 39s; "
		"its deadline can't be met, so it starts as soon as it can, in 1m 39s",
		a);
	why(p, want);
	snprintf(
		want, sizeof want,
		"it needs a partition to itself, and no suitable one is free; held by job %u, which is planned to end in 1m 39s; "
		"its slot in 1m 49s is the latest that meets its deadline, and it starts earlier if it can",
		a);
	why(q, want);
	world_fini(&w);
}

static void a_displaced_job_runs_again_right_afterwards(void **state)
{
	(void)state;
	open_world("parts:4,4");
	uint32_t a = normal(0, 100), b = normal(5, 90), c = normal(6, 30), p;

	starts(c, 95); /* at the end of b, in its partition */
	p = priority(7, 10, 40);
	/* p may wait until 30. It takes the place of the job that loses least: b, which has run
	 * from 5 on. */
	starts(p, 30);
	assert_true(world_job(&w, p)->guaranteed);
	assert_int_equal(world_last(&w, b, EVENT_MIGRATE)->at, 30);
	starts(c, 100); /* at the end of a, since b has its own again from 40 to 130 */
	world_cycle(&w, 30);
	runs(p);
	runs(a);
	assert_int_equal(world_job(&w, b)->state, STATE_CANDIDATE);
	starts(b, 40);
	finish(p, 38);
	runs(b);
	starts(c, 100);
	world_fini(&w);
}

/* A job that makes checkpoints. */
static uint32_t saving(int64_t now, int64_t walltime)
{
	uint32_t id = normal(now, walltime);

	world_job(&w, id)->saving = 5;
	return id;
}

static void partitions_are_shared_by_time_slices(void **state)
{
	(void)state;
	open_world("parts:4");
	uint32_t first = normal(0, 10), a = saving(0, 1000), b = normal(5, 300), c = saving(6, 1000);

	w.c->settings.time_slice = 100;
	finish(first, 10);
	runs(a);
	starts(b, 1010);
	world_cycle(&w, 109);
	runs(a);
	assert_int_equal(sched_next_wake(w.s), 110);
	world_cycle(&w, 110); /* its slice is over, and b waits */
	runs(b);
	starts(c, 410);
	starts(a, 1410); /* behind all that wait */
	world_cycle(&w, 300);
	runs(b); /* it could not save its work */
	finish(b, 400);
	runs(c);
	world_cycle(&w, 500);
	runs(a); /* by turns */
	sched_delete(w.s, c, 510, NULL);
	world_cycle(&w, 700);
	runs(a); /* nobody waits */
	uint32_t d = normal(710, 50);
	runs(d); /* its slice was over long ago */
	starts(a, 760);
	assert_int_equal(world_count(&w, a, EVENT_PREEMPT), 2);
	assert_int_equal(world_last(&w, a, EVENT_PREEMPT)->by, a);
	world_fini(&w);
}

static bool count_told(void *context, const struct foreseen *x)
{
	++*(int *)context;
	return true;
}

/* A forecast, which knows nothing of their progress, ends when it has the first start of each. */
static void forecasts_of_time_slices_end(void **state)
{
	int told = 0;

	(void)state;
	open_world("parts:4");
	w.c->settings.time_slice = 100;
	uint32_t a = saving(0, 1000), b = saving(0, 1000), c = saving(0, 1000);
	world_cycle(&w, 0);
	runs(a);
	struct forecast *f = forecast_create(w.s);
	assert_true(forecast_run(f, 2000, count_told, &told));
	assert_true(told >= 2);
	assert_true(job_waits(world_job(&w, b)) && job_waits(world_job(&w, c)));
	forecast_destroy(f);
	world_fini(&w);
}

static void one_that_waits_ends_one_slice(void **state)
{
	(void)state;
	open_world("parts:4,4,4");
	uint32_t first = normal(0, 10), next = normal(0, 10), last = normal(0, 10), a = saving(0, 1000),
		 b = saving(0, 1000), c = saving(0, 107);

	w.c->settings.time_slice = 100;
	finish(first, 10);
	finish(next, 10);
	finish(last, 10);
	uint32_t d = normal(30, 40);
	world_cycle(&w, 110);
	runs(c); /* it ends before its work would be saved */
	runs(d);
	assert_int_equal(world_count(&w, a, EVENT_PREEMPT) + world_count(&w, b, EVENT_PREEMPT), 1);
	world_fini(&w);
}

static void a_job_that_saved_its_work_is_displaced_first(void **state)
{
	(void)state;
	open_world("parts:4,4");
	uint32_t a = normal(0, 100), b = normal(5, 90);

	world_job(&w, a)->saved = 6;
	starts(priority(7, 10, 40), 30);
	assert_int_equal(world_last(&w, a, EVENT_MIGRATE)->at, 30);
	assert_int_equal(world_count(&w, b, EVENT_MIGRATE), 0);
	world_fini(&w);
}

static int64_t saving_of(void *context, uint32_t job)
{
	(void)context;
	return world_job(&w, job)->saving;
}

/* A guarantee counts the time in which the victim saves its work. */
static void a_victim_has_time_to_save_its_work(void **state)
{
	(void)state;
	open_world("parts:4,4");
	sched_on_delay(w.s, saving_of, NULL);
	uint32_t a = normal(0, 100), b = normal(5, 90);

	world_job(&w, a)->saving = 60;
	world_job(&w, a)->saved = 6; /* else it would be displaced first */
	world_job(&w, b)->saving = 20;
	uint32_t first = priority(7, 10, 40); /* from 30: only b can have ended by then */
	assert_true(world_job(&w, first)->guaranteed);
	assert_int_equal(world_last(&w, b, EVENT_MIGRATE)->at, 30);
	assert_int_equal(sched_next_wake(w.s), 10);
	uint32_t late = priority(8, 10, 70); /* from 60: a would have had to be stopped at 0 */
	assert_false(world_job(&w, late)->guaranteed);
	assert_int_equal(world_count(&w, a, EVENT_MIGRATE), 0);
	world_cycle(&w, 10);
	assert_int_equal(world_count(&w, b, EVENT_PREEMPT), 1);
	world_fini(&w);
}

static void a_victim_is_spared_when_another_ends(void **state)
{
	(void)state;
	open_world("parts:4,4");
	uint32_t a = normal(0, 100), b = normal(5, 90), p = priority(7, 10, 40);

	starts(p, 30);
	finish(a, 20);
	runs(p);
	assert_int_equal(world_last(&w, b, EVENT_MIGRATE)->at, 95);
	assert_int_equal(world_count(&w, b, EVENT_PREEMPT), 0);
	world_cycle(&w, 30);
	runs(b);
	world_fini(&w);
}

static void a_larger_partition_stays_free(void **state)
{
	(void)state;
	open_world("parts:4,8");
	uint32_t a = submit(0, NULL, 4, 10, TIME_NEVER, 0), b = submit(0, NULL, 3, 10, TIME_NEVER, 0),
		 c = submit(0, NULL, 5, 10, TIME_NEVER, 0);

	runs(a);
	starts(b, 10); /* B is free, but A is the smallest that it fits into */
	runs(c);
	world_fini(&w);
}

static void a_later_job_starts_where_an_earlier_one_cannot(void **state)
{
	(void)state;
	open_world("parts:4,4");
	normal(0, 10);
	uint32_t b = submit(0, "A", 0, 10, TIME_NEVER, 0), c = normal(0, 10);

	starts(b, 10); /* its partition, even though the other is free */
	runs(c);
	world_fini(&w);
}

static void an_early_end_delays_nobody(void **state)
{
	(void)state;
	open_world("parts:4,4");
	uint32_t a = submit(0, "A", 0, 5, TIME_NEVER, 0);
	submit(0, "B", 0, 4, TIME_NEVER, 0);
	uint32_t c = normal(0, 10), d = submit(0, "A", 0, 5, TIME_NEVER, 0);

	starts(c, 4); /* on B */
	starts(d, 5);
	finish(a, 1); /* c on A at once would keep d waiting until 11 */
	runs(d);
	starts(c, 4);
	world_fini(&w);
}

static void nice_jobs_let_others_pass(void **state)
{
	(void)state;
	open_world("parts:4");
	normal(0, 10);
	uint32_t n = submit(0, NULL, 0, 10, TIME_NEVER, 5), b, c;

	starts(n, 10);
	b = normal(1, 20);
	starts(b, 10);
	starts(n, 30);
	c = normal(5, 20); /* it is nice no more */
	starts(n, 30);
	starts(c, 40);
	world_fini(&w);
}

static uint32_t interactive(int64_t now, int64_t walltime)
{
	struct partition_ask ask = {.any = true};
	struct partition_choice got;
	struct job *job;

	assert_int_equal(partition_choose(w.c, &ask, &got, NULL), 0);
	job = cluster_add_job(w.c);
	job->request = partition_request(w.c, &got);
	job->allowed = got.allowed;
	job->walltime = walltime;
	job->kind = KIND_EMERGENCY;
	job->interactive = true;
	job->deadline = now + walltime;
	sched_submit(w.s, job->id, now);
	world_cycle(&w, now);
	return job->id;
}

static void interactive_jobs_start_at_once(void **state)
{
	(void)state;
	open_world("parts:4,4");
	uint32_t a = normal(0, 100), i = interactive(1, 10), b = normal(2, 20), k;

	runs(i); /* where nobody is */
	starts(b, 11);
	k = interactive(3, 10); /* in the place of a: interactive jobs are not displaced */
	runs(k);
	assert_int_equal(world_job(&w, a)->state, STATE_CANDIDATE);
	starts(a, 11); /* as soon as a partition is free; it comes before all that wait */
	starts(b, 13);
	assert_int_equal(world_job(&w, interactive(4, 5))->state, STATE_EXPIRED); /* all have interactive jobs */
	world_fini(&w);
}

static void interactive_jobs_displace_who_has_run_longest(void **state)
{
	(void)state;
	open_world("parts:4,4");
	uint32_t a = normal(0, 100), b = normal(20, 30);

	runs(interactive(40, 10)); /* a has run 40 of 100, b 20 of 30 */
	runs(a);
	starts(b, 50);
	world_fini(&w);
}

static void interactive_jobs_break_no_guarantee(void **state)
{
	(void)state;
	open_world("parts:4");
	normal(0, 10);
	uint32_t p = priority(1, 10, 20);

	starts(p, 10);
	assert_int_equal(world_job(&w, interactive(2, 10))->state, STATE_EXPIRED);
	runs(interactive(3, 7));
	starts(p, 10);
	world_fini(&w);
}

/* The example's schedule, as its comments say. */
static void open_node(void)
{
	world_init(&w, "artaras");
	world_add_nodes(&w, 1, 8);
	world_open(&w);
	sched_pace(w.s, 1);
}

/* A cycle was cut when it had placed a job at the present instant: that one has not started, and
 * makes way for what is still there. */
static void an_overrun_takes_the_place_of_who_has_not_started(void **state)
{
	(void)state;
	open_node();
	uint32_t r = world_common(&w, 0, "nodes=1:ppn=8", 10);

	for (int i = 0; i < 4; i++)
		world_cycle(&w, 0);
	runs(r);
	uint32_t a = world_common(&w, 10, "nodes=1:ppn=8", 20), b = world_common(&w, 10, "nodes=1:ppn=8", 30);
	for (int i = 0; i < 8 && sched_planned(w.s, a) == TIME_NEVER; i++) /* taking them in is a cycle of its own */
		world_cycle(&w, 10);
	starts(a, 10);
	starts(b, TIME_NEVER);
	sched_overrun(w.s, r, 12, 10);
	plan_check(w.p);
	for (int i = 0; i < 4; i++)
		world_cycle(&w, 10);
	starts(a, 12);
	starts(b, 32);
	world_fini(&w);
}

/* Time was lost between two parts of a cycle: a place that has gone by meanwhile is not started
 * in. */
static void a_place_goes_by(enum job_kind kind, int64_t deadline)
{
	open_node();
	uint32_t p = world_submit(&w, 0, kind, "nodes=1:ppn=8", 10, deadline, 0),
		 q = world_submit(&w, 0, kind, "nodes=1:ppn=8", 10, deadline, 0);

	for (int i = 0; i < 8 && sched_planned(w.s, p) == TIME_NEVER; i++)
		world_cycle(&w, 0);
	starts(p, 0);
	starts(q, TIME_NEVER);
	for (int i = 0; i < 4; i++)
		world_cycle(&w, 5000);
	runs(p);
	assert_int_equal(world_last(&w, p, EVENT_START)->time, 5000);
	assert_int_equal(world_last(&w, p, EVENT_START)->at, 5010);
	starts(q, 5010);
	world_fini(&w);
}

static void a_place_goes_by_within_a_cycle(void **state)
{
	(void)state;
	a_place_goes_by(KIND_QOS, 100000);
	a_place_goes_by(KIND_COMMON, TIME_NEVER);
}

static void the_example_by_hand(void **state)
{
	static const int64_t hours[] = {3, 0, 0, 9, 13, 8, 2, 7, 2};
	struct workload *work;
	struct sim_options o;
	struct sim_result r;
	struct err err;

	(void)state;
	sim_options_init(&o);
	o.check = true;
	if (workload_read(SHUNT_ROOT "/examples/partitions.work", RULES_SITE, 0, &work, &err) != 0)
		fail_msg("%s", err.text);
	o.machine = work->machine;
	if (sim_run(work, policy_find("artaras"), &o, &r, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(r.n, sizeof hours / sizeof *hours);
	for (int64_t i = 0; i < r.n; i++)
		assert_int_equal(r.outcome[i].start, hours[i] * 3600);
	assert_true(r.outcome[5].guaranteed && r.outcome[6].guaranteed);
	sim_result_fini(&r);
	workload_destroy(work);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(normal_jobs_follow_each_other),
		cmocka_unit_test(settled_places_stay),
		cmocka_unit_test(a_deadline_that_is_met_moves_nobody),
		cmocka_unit_test(a_deadline_moves_up_only_as_far_as_it_must),
		cmocka_unit_test(those_that_are_passed_are_moved_up_in_turn),
		cmocka_unit_test(removal_returns_them_to_their_positions),
		cmocka_unit_test(a_deadline_that_cannot_be_met),
		cmocka_unit_test(a_late_job_stays_ahead),
		cmocka_unit_test(what_keeps_it_waiting),
		cmocka_unit_test(a_displaced_job_runs_again_right_afterwards),
		cmocka_unit_test(partitions_are_shared_by_time_slices),
		cmocka_unit_test(forecasts_of_time_slices_end),
		cmocka_unit_test(one_that_waits_ends_one_slice),
		cmocka_unit_test(a_job_that_saved_its_work_is_displaced_first),
		cmocka_unit_test(a_victim_has_time_to_save_its_work),
		cmocka_unit_test(a_victim_is_spared_when_another_ends),
		cmocka_unit_test(a_larger_partition_stays_free),
		cmocka_unit_test(a_later_job_starts_where_an_earlier_one_cannot),
		cmocka_unit_test(an_early_end_delays_nobody),
		cmocka_unit_test(nice_jobs_let_others_pass),
		cmocka_unit_test(interactive_jobs_start_at_once),
		cmocka_unit_test(interactive_jobs_displace_who_has_run_longest),
		cmocka_unit_test(interactive_jobs_break_no_guarantee),
		cmocka_unit_test(an_overrun_takes_the_place_of_who_has_not_started),
		cmocka_unit_test(a_place_goes_by_within_a_cycle),
		cmocka_unit_test(the_example_by_hand),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
