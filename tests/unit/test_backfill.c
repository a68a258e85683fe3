/*
 * test_backfill.c - who overtakes a job that can't start: by the server's attributes, in the
 * simulator.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rules/queue.h"
#include "sim/sim.h"
#include "support/world.h"

/* At instant 10, 7 of 8 CPUs become free, until 200; job 3 needs all of them, and the others
 * would end in time. */
static const char work[] = "#shunt-workload 1\n"
			   "machine nodes:1x8\n"
			   "at=0 user=a req=ncpus=1 run=200 walltime=200\n"
			   "at=0 user=a req=ncpus=7 run=10 walltime=10\n"
			   "at=1 user=a req=ncpus=8 run=10 walltime=10\n"
			   "at=2 user=a req=ncpus=2 run=50 walltime=50\n"
			   "at=2 user=a req=ncpus=6 run=50 walltime=50\n"
			   "at=2 user=a req=ncpus=4 run=50 walltime=50\n"
			   "at=2 user=a req=ncpus=3 run=50 walltime=50\n";

static void set(struct attrs *a, const char *name, const char *value)
{
	struct err err;

	if (attrs_change(a, ATTR_SET, name, value, &err) < 0)
		fail_msg("%s", err.text);
}

/* Jobs that start then: "4 6". */
static void overtake(const char *policy, const char *backfill, const char *expected)
{
	char path[] = "/tmp/shunt-backfill-XXXXXX", got[100] = "";
	struct sim_result r = {0};
	struct sim_options o;
	struct ruleset site;
	struct workload *w;
	struct err err;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, work, strlen(work)), strlen(work));
	close(fd);
	ruleset_init(&site);
	ruleset_add(&site, "batch");
	set(&site.queues.v[0].attrs, "enabled", "True");
	set(&site.queues.v[0].attrs, "started", "True");
	set(&site.attrs, "default_queue", "batch");
	if (backfill)
		set(&site.attrs, "backfill", backfill);
	sim_options_init(&o);
	o.site = &site;
	o.check = true;
	if (workload_read(path, RULES_SITE, 0, &w, &err) < 0)
		fail_msg("%s", err.text);
	o.machine = w->machine;
	if (sim_run(w, policy_find(policy), &o, &r, &err) < 0)
		fail_msg("%s", err.text);
	for (int64_t i = 0; i < r.n; i++)
		if (r.outcome[i].start == 10)
			snprintf(got + strlen(got), sizeof got - strlen(got), "%s%lld", *got ? " " : "",
				 (long long)i + 1);
	assert_string_equal(got, expected);
	assert_true(r.outcome[2].start == 200); /* nobody delays the one that reserved */
	sim_result_fini(&r);
	workload_destroy(w);
	ruleset_fini(&site);
	unlink(path);
}

static void kinds(void **state)
{
	overtake("easy", NULL, "4 6");
	overtake("easy", "first_fit", "4 6"); /* 2 and 4 CPUs: one stays idle */
	overtake("easy", "best_fit", "5");    /* 6: the largest */
	overtake("easy", "greedy", "6 7");    /* 4 and 3: all of them */
	overtake("easy", "none", "");
	overtake("fcfs", NULL, "");
	overtake("fcfs", "first_fit", "4 6");
}

/* Fills the machine with jobs of 10 s again and again, and returns when `job` starts. */
static int64_t start_among_short(struct world *w, uint32_t job)
{
	int64_t now = 10;

	for (int i = 0; i < 60 && world_job(w, job)->state == STATE_CANDIDATE; i++, now += 10) {
		for (uint32_t j = 0; j < w->c->jobs.n; j++)
			if (world_job(w, j)->state == STATE_RUNNING)
				sched_finish(w->s, j, now, NULL);
		world_common(w, now, "ncpus=4", 10);
		world_common(w, now, "ncpus=4", 10);
		world_cycle(w, now);
	}
	assert_int_equal(world_job(w, job)->state, STATE_RUNNING);
	return world_job(w, job)->start;
}

static void by_due_dates(struct world *w)
{
	world_init(w, "shunt");
	w->c->settings.starve_after = STARVE_AUTO;
	world_add_nodes(w, 1, 8);
	world_open(w);
}

/* As long as the default has seen few jobs end, short ones go first, whatever their width; a long
 * one waits for 1.5 times the work that was there when it came, not for all that come later. */
static void first_jobs(void **state)
{
	struct world w;

	(void)state;
	by_due_dates(&w);
	uint32_t runs = world_common(&w, 0, "ncpus=8", 100);
	world_cycle(&w, 0);
	uint32_t narrow = world_common(&w, 1, "ncpus=1", 50), wide = world_common(&w, 2, "ncpus=8", 10);
	world_cycle(&w, 2);
	sched_finish(w.s, runs, 100, NULL);
	world_cycle(&w, 100);
	assert_int_equal(world_job(&w, wide)->state, STATE_RUNNING);
	assert_int_equal(world_job(&w, narrow)->state, STATE_CANDIDATE);
	world_fini(&w);

	by_due_dates(&w);
	world_common(&w, 0, "ncpus=8", 10);
	world_cycle(&w, 0);
	assert_in_range(start_among_short(&w, world_common(&w, 0, "ncpus=4", 100)), 100, 200);
	world_fini(&w);
}

static int altered(const char *policy, const char *name, const char *value, struct policy *ret)
{
	struct err err;
	struct attrs a;
	int rc;

	attrs_init(&a, ATTR_SERVER);
	assert_int_equal(attrs_change(&a, ATTR_SET, name, value, &err), 0);
	*ret = *policy_find(policy);
	rc = policy_alter(ret, &a, &err);
	if (rc < 0)
		assert_non_null(strstr(err.text, name));
	attrs_fini(&a);
	return rc;
}

static void what_goes_together(void **state)
{
	struct policy p;

	assert_true(altered("conservative", "backfill", "none", &p) < 0);
	assert_true(altered("artaras", "backfill", "greedy", &p) < 0);
	assert_true(altered("shunt", "backfill", "best_fit", &p) <
		    0); /* it has its own order, unless there are priorities */
	assert_int_equal(altered("easy", "reservation_depth", "5", &p), 0);
	assert_int_equal(p.reserve, 5);
	assert_int_equal(altered("conservative", "reservation_depth", "5", &p), 0);
	assert_int_equal(p.reserve, RESERVE_ALL);
}

/* `qmgr -c 'print server'` sets one after the other, in the order of the table: each must go
 * with those before. */
static void printed_can_be_read(void **state)
{
	struct attrs all, some;
	struct err err;

	attrs_init(&all, ATTR_SERVER);
	attrs_init(&some, ATTR_SERVER);
	set(&all, "backfill", "greedy");
	set(&all, "priority_order", "sum");
	set(&all, "policy", "shunt");
	for (size_t i = 0; i < all.set.n; i++) {
		struct policy p = *policy_find("shunt");
		set(&some, all.set.v[i].attr->name, all.set.v[i].text);
		if (policy_alter(&p, &some, &err) < 0)
			fail_msg("%s", err.text);
	}
	attrs_fini(&all);
	attrs_fini(&some);
}

#define WAITING 300

/* Waiting jobs whose order changes with time, each of which is tried on all nodes: neither the
 * first pass nor those that continue it take longer than the pace allows. */
static void changing_order_is_scanned_in_slices(void **state)
{
	static const char *const some[] = {"easy", "wfp3"};
	const uint64_t pace = 500;
	const int64_t now = 10000;
	const struct res total = {.v = {[RES_CPU] = 8, [RES_MEM] = 8 << 20}}; /* KiB */
	char name[16];

	(void)state;
	for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
		struct world w;
		uint64_t most = 0;
		bool done = false;
		world_init(&w, some[k]);
		for (int i = 0; i < 40; i++) {
			snprintf(name, sizeof name, "n%d", i + 1);
			assert_int_equal(cluster_add_node(w.c, name, &total, NULL), 0);
		}
		world_open(&w);
		for (int i = 0; i < 40; i++)
			world_common(&w, 0, "ncpus=6,mem=7gb", 90000);
		world_cycle(&w, 0);
		/* shorter ones later: the failure of one shows nothing. CPUs are enough, or none were tried */
		for (int64_t i = 0; i < WAITING; i++) {
			int64_t length = 4000 - 10 * i;
			world_common(&w, now - length * (400 - i) / 200, "ncpus=2,mem=2gb", length);
		}
		sched_pace(w.s, pace);
		for (int cycles = 0; !done; cycles++) {
			uint64_t before = w.p->work;
			done = sched_cycle(w.s, now);
			most = w.p->work - before > most ? w.p->work - before : most;
			assert_true(cycles < 1000);
		}
		assert_true(w.p->attempts > WAITING);
		assert_in_range(most, pace, 3 * pace);
		world_fini(&w);
	}
}

/* One CPU is free on each node, and most jobs need two there: all are tried, a part in each cycle,
 * and the one that fits starts, however far behind it is. */
static void due_dates_are_scanned_in_slices(void **state)
{
	enum { JOBS = 5000, PACE = 500 };
	struct world w;
	int cycles = 1;

	(void)state;
	world_init(&w, "shunt");
	world_add_nodes(&w, 8, 4);
	world_open(&w);
	for (int i = 0; i < 8; i++)
		world_common(&w, 0, "nodes=1:ppn=3", 90000);
	world_cycle(&w, 0);
	for (int i = 0; i < JOBS; i++)
		world_common(&w, 1, "nodes=1:ppn=2", 3600);
	world_cycle(&w, 1);
	uint32_t last = world_common(&w, 1, "nodes=1:ppn=1", 80000);
	sched_refresh(w.s);
	sched_pace(w.s, PACE);
	while (!sched_cycle(w.s, 1))
		cycles++;
	assert_in_range(cycles, JOBS / PACE, 3 * JOBS / PACE);
	assert_int_equal(world_job(&w, last)->state, STATE_NOW);
	world_fini(&w);
}

/* A job that leaves the queue from behind the head changes nothing: the head keeps its reservation,
 * and nobody looks at the nodes again. If the head leaves, all of that happens. */
static void leaves_from_behind(void **state)
{
	static const char *const policy[] = {"shunt", "easy", "fcfs", "torque"};

	(void)state;
	for (size_t i = 0; i < sizeof policy / sizeof *policy; i++) {
		struct world w;
		world_init(&w, policy[i]);
		world_add_nodes(&w, 2, 4);
		world_open(&w);
		world_common(&w, 0, "nodes=2:ppn=4", 100);
		world_cycle(&w, 0);
		/* equally wide: under some policies a narrow job would come first */
		uint32_t head = world_common(&w, 1, "nodes=2:ppn=4", 50),
			 held = world_common(&w, 2, "nodes=2:ppn=4", 60),
			 deleted = world_common(&w, 3, "nodes=2:ppn=4", 70);
		world_cycle(&w, 3);
		bool reserved = plan_holds(w.p, head);
		int64_t passes = sched_stats(w.s)->full_passes;
		sched_hold(w.s, held, 4);
		sched_delete(w.s, deleted, 4, NULL);
		assert_int_equal(plan_holds(w.p, head), reserved);
		world_cycle(&w, 4);
		assert_int_equal(sched_stats(w.s)->full_passes, passes);
		assert_int_equal(plan_holds(w.p, head), reserved);
		sched_release(w.s, held, 5);
		sched_delete(w.s, head, 5, NULL);
		world_cycle(&w, 5);
		assert_int_equal(sched_stats(w.s)->full_passes, passes + 1);
		assert_int_equal(plan_holds(w.p, held), reserved);
		world_fini(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_from_behind),
		cmocka_unit_test(due_dates_are_scanned_in_slices),
		cmocka_unit_test(changing_order_is_scanned_in_slices),
		cmocka_unit_test(first_jobs),
		cmocka_unit_test(kinds),
		cmocka_unit_test(what_goes_together),
		cmocka_unit_test(printed_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
