/*
 * test_amounts.c - what a site has of something that jobs use wherever they run, such as licences:
 * the plan knows it over time.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plan/fence.h"
#include "plan/pack.h"
#include "rules/amounts.h"
#include "sched/blockers.h"
#include "support/world.h"

#define HOUR 3600

static void set(struct world *w, const char *name, int64_t total, int64_t elsewhere, int64_t now)
{
	int id = cluster_amount(w->c, name, NULL);

	assert_true(id >= 0);
	if (w->s)
		sched_amount(w->s, (uint32_t)id, &(struct amount){total, elsewhere}, now);
	else
		w->c->amounts.v[id] = (struct amount){total, elsewhere};
}

static void open_world(struct world *w, const char *policy, int nodes, int64_t cpus)
{
	world_init(w, policy);
	world_add_nodes(w, nodes, cpus);
	set(w, "matlab", 4, 0, 0);
	world_open(w);
}

static enum job_state state(const struct world *w, uint32_t job)
{
	return world_job(w, job)->state;
}

/* CPUs are free, but the licences are held: it waits until they are not, and one without starts. */
static void held_in(const char *policy, int nodes, int64_t cpus)
{
	struct world w;

	open_world(&w, policy, nodes, cpus);
	uint32_t a = world_common(&w, 0, "ncpus=1,matlab=3", HOUR), b = world_common(&w, 0, "ncpus=1,Matlab=2", HOUR),
		 c = world_common(&w, 0, "ncpus=1", HOUR);
	world_cycle(&w, 0);
	assert_int_equal(state(&w, a), STATE_RUNNING);
	assert_int_equal(state(&w, b), STATE_CANDIDATE);
	assert_int_equal(state(&w, c), STATE_RUNNING);
	world_because(
		&w, b, WHY_AMOUNT,
		"it needs 2 matlab and 1 of 4 is free: 1 is missing; held by job 0, which is planned to end in 1h");
	sched_finish(w.s, a, 60, NULL);
	world_cycle(&w, 60);
	assert_int_equal(state(&w, b), STATE_RUNNING);
	world_fini(&w);
}

static void held_licences_keep_a_job_waiting(void **state_)
{
	(void)state_;
	held_in("easy", 3, 2);
	held_in("easy", 1, 8);
	held_in("conservative", 3, 2);
	held_in("conservative", 1, 8);
}

/* The first waits for licences, which one that would pass it must leave alone; for CPUs alone
 * another may pass. */
static void backfill_respects_them(void **state_)
{
	struct world w;

	(void)state_;
	open_world(&w, "easy", 2, 4);
	uint32_t a = world_common(&w, 0, "ncpus=1,matlab=2", HOUR), b = world_common(&w, 0, "ncpus=1,matlab=3", HOUR),
		 long_ = world_common(&w, 0, "ncpus=1,matlab=2", 2 * HOUR),
		 short_ = world_common(&w, 0, "ncpus=1,matlab=2", HOUR), c = world_common(&w, 0, "ncpus=1", 9 * HOUR);
	world_cycle(&w, 0);
	assert_int_equal(state(&w, a), STATE_RUNNING);
	assert_int_equal(sched_planned(w.s, b), HOUR);
	assert_int_equal(state(&w, long_), STATE_CANDIDATE);
	assert_int_equal(state(&w, short_), STATE_RUNNING);
	assert_int_equal(state(&w, c), STATE_RUNNING);
	world_fini(&w);
}

/* A chunk's count multiplies; a job of two fragments holds its portions once. */
static void chunks_count(void **state_)
{
	struct world w;

	(void)state_;
	open_world(&w, "easy", 2, 4);
	uint32_t a = world_common(&w, 0, "select=2:ncpus=3:matlab=2", HOUR);
	world_cycle(&w, 0);
	assert_int_equal(state(&w, a), STATE_RUNNING);
	assert_int_equal(plan_amount_free(w.p, 0, 0, HOUR), 0);
	assert_int_equal(plan_amount_free(w.p, 0, HOUR, 2 * HOUR), 4);
	sched_requeue(w.s, a, 10, NULL);
	assert_int_equal(plan_amount_free(w.p, 0, 10, HOUR), 4);
	world_fini(&w);
}

/* Fewer than are in use: what runs continues, what is reserved loses its place and gets a later
 * one. */
static void lowered_below_use(void **state_)
{
	struct world w;

	(void)state_;
	open_world(&w, "easy", 2, 4);
	uint32_t a = world_common(&w, 0, "ncpus=1,matlab=4", HOUR),
		 q = world_submit(&w, 0, KIND_QOS, "ncpus=1,matlab=3", HOUR, 3 * HOUR, 0);
	world_cycle(&w, 0);
	assert_int_equal(state(&w, a), STATE_RUNNING);
	assert_int_equal(state(&w, q), STATE_ALLOCATED);
	set(&w, "matlab", 2, 0, 10);
	plan_check(w.p);
	world_cycle(&w, 10);
	assert_int_equal(state(&w, a), STATE_RUNNING);
	assert_int_equal(state(&w, q), STATE_CANDIDATE);
	assert_int_equal(plan_amount_free(w.p, 0, 10, HOUR), -2);
	world_because(&w, q, WHY_NEVER, "it asks for 3 matlab and the site has 2");
	set(&w, "matlab", 8, 0, 20);
	world_because(&w, q, WHY_NEXT, "nothing blocks it: it starts in the next cycle");
	world_cycle(&w, 20);
	assert_int_equal(state(&w, q), STATE_RUNNING);
	world_fini(&w);
}

/* What others use is not there for jobs, and what waits for it says so. */
static void used_elsewhere(void **state_)
{
	struct world w;
	reason_vec reasons = {0};
	bool there[] = {true, true};

	(void)state_;
	open_world(&w, "easy", 2, 4);
	set(&w, "matlab", 4, 3, 0);
	uint32_t a = world_common(&w, 0, "ncpus=1,matlab=2", HOUR);
	world_cycle(&w, 0);
	assert_int_equal(state(&w, a), STATE_CANDIDATE);
	world_because(&w, a, WHY_AMOUNT,
		      "it needs 2 matlab and 1 of 4 is free: 1 is missing (3 are in use outside the cluster)");
	sched_blockers(w.s, &(struct blockers_ask){.job = a, .allowed = NODES_ALL, .there = there}, &reasons);
	plan_check(w.p);
	assert_int_equal(reasons.n, 1);
	assert_int_equal(reasons.v[0].why, WHY_AMOUNT);
	assert_int_equal(w.c->amounts.v[0].elsewhere, 3);
	reasons_fini(&reasons);
	set(&w, "matlab", 4, 1, 10);
	world_cycle(&w, 10);
	assert_int_equal(state(&w, a), STATE_RUNNING);
	world_fini(&w);
}

/* All that keeps it waiting is named: here both CPUs and licences are held by the same jobs. */
static void every_reason(void **state_)
{
	struct world w;
	reason_vec reasons = {0};
	bool there[] = {true};

	(void)state_;
	open_world(&w, "easy", 1, 4);
	world_common(&w, 0, "ncpus=4,matlab=4", HOUR);
	uint32_t b = world_common(&w, 0, "ncpus=2,matlab=1", HOUR);
	world_cycle(&w, 0);
	sched_blockers(w.s, &(struct blockers_ask){.job = b, .allowed = NODES_ALL, .there = there}, &reasons);
	assert_int_equal(reasons.n, 2);
	assert_int_equal(reasons.v[0].why, WHY_SHORT);
	assert_int_equal(reasons.v[1].why, WHY_AMOUNT);
	assert_true(reasons.v[1].implied);
	reasons_fini(&reasons);
	world_fini(&w);
}

/* The first amount of which the site has too few is named, also after others. */
static void never_enough(void **state_)
{
	struct world w;
	bool there[] = {true};

	(void)state_;
	world_init(&w, "easy");
	world_add_nodes(&w, 1, 4);
	set(&w, "matlab", 4, 0, 0);
	set(&w, "abaqus", 4, 0, 0);
	world_open(&w);
	uint32_t a = world_common(&w, 0, "ncpus=1,matlab=2,abaqus=3", HOUR);
	set(&w, "abaqus", 2, 0, 0);
	for (int64_t most = 1; most <= 2; most++) {
		reason_vec reasons = {0};
		set(&w, "matlab", most, 0, 0);
		sched_blockers(w.s, &(struct blockers_ask){.job = a, .allowed = NODES_ALL, .there = there}, &reasons);
		assert_int_equal(reasons.n, 1);
		assert_int_equal(reasons.v[0].why, WHY_NEVER);
		assert_true(reasons.v[0].site);
		assert_int_equal(reasons.v[0].amount, most - 1);
		assert_int_equal(reasons.v[0].needed, most + 1);
		assert_int_equal(reasons.v[0].free, most);
		assert_int_equal(reasons.v[0].missing, 1);
		reasons_fini(&reasons);
	}
	world_fini(&w);
}

/* A job that runs longer keeps its licences; the one that was to have them makes room. */
static void overrun(void **state_)
{
	struct world w;
	struct obstacle o;

	(void)state_;
	open_world(&w, "easy", 2, 4);
	uint32_t a = world_common(&w, 0, "ncpus=1,matlab=4", HOUR),
		 q = world_submit(&w, 0, KIND_QOS, "ncpus=1,matlab=3", HOUR, 2 * HOUR, 0);
	world_cycle(&w, 0);
	assert_int_equal(state(&w, q), STATE_ALLOCATED);
	assert_false(sched_may_extend(w.s, a, 2 * HOUR, 0, &o));
	assert_int_equal(o.job, q);
	assert_int_equal(o.until, HOUR);
	assert_true(sched_overrun(w.s, a, HOUR + 60, HOUR));
	plan_check(w.p);
	assert_int_equal(state(&w, q), STATE_CANDIDATE);
	world_fini(&w);
}

/* Nobody is stopped for the sake of an amount, not even for an emergency job with every power:
 * it waits until they are free, or has no guarantee. */
static void emergency_takes_none(void **state_)
{
	struct world w;

	(void)state_;
	open_world(&w, "shunt", 1, 8);
	uint32_t holder = world_common(&w, 0, "ncpus=2,matlab=3", HOUR),
		 other = world_common(&w, 0, "ncpus=6", 3 * HOUR);
	world_cycle(&w, 0);
	assert_int_equal(state(&w, other), STATE_RUNNING);
	uint32_t late = world_submit(&w, 10, KIND_EMERGENCY, "ncpus=6,matlab=2", HOUR, 3 * HOUR, 255),
		 soon = world_submit(&w, 10, KIND_EMERGENCY, "ncpus=1,matlab=2", HOUR / 4, HOUR / 2, 255);
	world_cycle(&w, 10);
	assert_int_equal(state(&w, holder), STATE_RUNNING);
	assert_int_equal(plan_piece(w.p, holder, 0)->end, HOUR);
	assert_true(world_job(&w, late)->guaranteed); /* by CPUs of the other, once the licences are free */
	assert_true(sched_planned(w.s, late) >= HOUR);
	assert_true(plan_piece(w.p, other, 0)->end < 3 * HOUR);
	assert_false(world_job(&w, soon)->guaranteed);
	plan_check(w.p);
	world_fini(&w);
}

/* Three of four are kept for some over an interval: the others have one together, and wait for
 * its end; those with the key take any. */
static void kept_in(const char *policy)
{
	bool key[4] = {0};
	struct world w;

	open_world(&w, policy, 2, 4);
	uint32_t course = names_add(&w.c->reservation_names, "course") + 1;
	struct node_fence f = {.node = 0, .fence = {.start = 60, .end = 2 * HOUR, .id = course}, .keep = 3};

	key[course] = true;
	sched_fences(w.s, &f, 1, 0);
	uint32_t one = world_common(&w, 0, "ncpus=1,matlab=1", HOUR),
		 inside = world_common(&w, 0, "ncpus=1,matlab=3", HOUR / 2),
		 two = world_common(&w, 0, "ncpus=1,matlab=2", HOUR),
		 more = world_common(&w, 0, "ncpus=1,matlab=1", HOUR);
	sched_keys(w.s, inside, cluster_nodeset(w.c, key, 4, false), 0, 0);
	world_cycle(&w, 0);
	assert_int_equal(state(&w, one), STATE_RUNNING);
	assert_int_equal(state(&w, inside), STATE_RUNNING);
	assert_int_not_equal(state(&w, two), STATE_RUNNING);
	assert_int_not_equal(state(&w, more), STATE_RUNNING);
	plan_check(w.p);
	sched_finish(w.s, one, 100, NULL);
	world_cycle(&w, 100);
	assert_int_equal(state(&w, more), STATE_RUNNING); /* the one that is left for those without the key */
	assert_int_not_equal(state(&w, two), STATE_RUNNING);
	sched_finish(w.s, inside, 200, NULL);
	world_cycle(&w, 200);
	assert_int_not_equal(state(&w, two), STATE_RUNNING); /* kept, though nobody uses them */
	world_because(&w, two, WHY_RESERVATION, "reservation course keeps 3 of 4 matlab from it for another 1h 56m");
	sched_fences(w.s, NULL, 0, 300);
	world_cycle(&w, 300);
	assert_int_equal(state(&w, two), STATE_RUNNING);
	plan_check(w.p);
	world_fini(&w);
}

static void kept_for_some(void **state_)
{
	(void)state_;
	kept_in("easy");
	kept_in("conservative");
}

/* Why a job waits is asked as if it had the key to what is kept: afterwards its place counts as
 * before, and so does what is left for others. */
static void the_question_changes_nothing(void **state_)
{
	struct world w;
	reason_vec reasons = {0};
	bool there[] = {true, true};

	(void)state_;
	open_world(&w, "artaras", 2, 4);
	uint32_t course = names_add(&w.c->reservation_names, "course") + 1;
	struct node_fence f[] = {{.node = 0, .fence = {.start = 0, .end = 2 * HOUR, .id = course}, .keep = 3},
				 {.node = 0, .fence = {.start = 2 * HOUR, .end = 4 * HOUR, .id = course}, .keep = 2}};

	sched_fences(w.s, f, 2, 0);
	uint32_t a = world_common(&w, 0, "ncpus=1,matlab=2", HOUR), b = world_common(&w, 0, "ncpus=1,matlab=2", HOUR);
	world_cycle(&w, 0);
	assert_int_equal(sched_planned(w.s, a), 2 * HOUR);
	assert_int_equal(plan_amount_open(w.p, b, 0, 2 * HOUR, 3 * HOUR, NULL), 0);
	size_t sets = w.c->nodesets.n;
	sched_blockers(w.s, &(struct blockers_ask){.job = a, .allowed = NODES_ALL, .there = there}, &reasons);
	assert_int_equal(w.c->nodesets.n, sets);
	assert_int_equal(reasons.n, 1);
	assert_int_equal(reasons.v[0].why, WHY_RESERVATION);
	reasons_fini(&reasons);
	assert_int_equal(plan_amount_open(w.p, b, 0, 2 * HOUR, 3 * HOUR, NULL), 0);
	plan_check(w.p);
	world_fini(&w);
}

/* The reservation is over, and with it the keys to it: who had one keeps the place that was
 * promised. */
static void a_place_outlives_the_key(void **state_)
{
	bool key[4] = {0};
	struct world w;

	(void)state_;
	open_world(&w, "artaras", 2, 4);
	uint32_t course = names_add(&w.c->reservation_names, "course") + 1;
	struct node_fence f = {.node = 0, .fence = {.start = 0, .end = 60, .id = course}, .keep = 3};

	key[course] = true;
	sched_fences(w.s, &f, 1, 0);
	uint32_t one = world_common(&w, 0, "ncpus=1,matlab=1", HOUR),
		 next = world_common(&w, 0, "ncpus=1,matlab=4", HOUR);
	sched_keys(w.s, next, cluster_nodeset(w.c, key, 4, false), 0, 0);
	world_cycle(&w, 0);
	assert_int_equal(state(&w, one), STATE_RUNNING);
	assert_int_equal(sched_planned(w.s, next), HOUR);
	sched_keys(w.s, next, KEYS_NONE, 0, 60);
	sched_fences(w.s, NULL, 0, 60);
	assert_int_equal(sched_planned(w.s, next), HOUR);
	plan_check(w.p);
	world_cycle(&w, 60);
	assert_int_equal(world_count(&w, next, EVENT_KEEP), 1);
	world_fini(&w);
}

static void requests_are_judged(void **state_)
{
	struct world w;
	struct err err;

	(void)state_;
	open_world(&w, "easy", 1, 4);
	uint32_t a = world_common(&w, 0, "ncpus=1,matlab=2", HOUR), b = world_common(&w, 0, "ncpus=1,matlab=3", HOUR),
		 c = world_common(&w, 0, "ncpus=1,matlab=2", HOUR), d = world_common(&w, 0, "ncpus=1,matlab=9", HOUR);
	assert_int_equal(world_job(&w, a)->request, world_job(&w, c)->request);
	assert_int_not_equal(world_job(&w, a)->request, world_job(&w, b)->request);
	assert_int_equal(pack_apart(w.c, cluster_job_request(w.c, world_job(&w, d)), false, false, NULL, &err), FIT_NO);
	assert_string_equal(err.text, "it requests 9 matlab, but the site has 4");
	for (int i = 1; i < AMOUNTS_MAX; i++) {
		char name[16];
		snprintf(name, sizeof name, "x%d", i);
		assert_int_equal(cluster_amount(w.c, name, &err), i);
	}
	assert_int_equal(cluster_amount(w.c, "one", &err), -ENOSPC);
	assert_int_equal(cluster_amount(w.c, "MATLAB", &err), 0);
	world_fini(&w);
}

static void set_by_attributes(void **state_)
{
	struct cluster *c = cluster_create();
	struct attrs a;
	struct err err;

	(void)state_;
	attrs_init(&a, ATTR_SERVER);
	assert_int_equal(attrs_change(&a, ATTR_SET, "resources_available.Matlab", "20", &err), 0);
	assert_int_equal(amounts_check(&a, &err), 0);
	assert_true(amounts_of_server(c, &a));
	assert_false(amounts_of_server(c, &a));
	assert_int_equal(c->amounts.v[0].total, 20);
	assert_string_equal(names_get(&c->amount_names, 0), "matlab");
	assert_int_equal(cluster_amount(c, "Other", &err), 1); /* by a job, after a restart */
	assert_string_equal(names_get(&c->amount_names, 1), "other");
	assert_int_equal(attrs_change(&a, ATTR_REMOVE, "resources_available.matlab", "5", &err), 0);
	assert_true(amounts_of_server(c, &a));
	assert_int_equal(c->amounts.v[0].total, 15);
	assert_int_equal(attrs_change(&a, ATTR_UNSET, "resources_available.matlab", NULL, &err), 0);
	assert_true(amounts_of_server(c, &a));
	assert_int_equal(c->amounts.v[0].total, 0);
	assert_int_equal(attrs_change(&a, ATTR_SET, "resources_available.none", "0", &err), 0);
	assert_true(amounts_of_server(c, &a));
	assert_int_equal(attrs_change(&a, ATTR_SET, "resources_available.ncpus", "5", &err), 0);
	assert_int_equal(amounts_check(&a, &err), -EINVAL);
	attrs_fini(&a);
	cluster_destroy(c);
}

/* Checks one more resource of the server, which stays if it is accepted. */
static void add(struct attrs *a, const char *name, const char *refused)
{
	char attr[64];
	struct err err = {.text = ""};

	snprintf(attr, sizeof attr, "resources_available.%s", name);
	assert_int_equal(attrs_change(a, ATTR_SET, attr, "5", &err), 0);
	if (!refused) {
		assert_int_equal(amounts_check(a, &err), 0);
		return;
	}
	assert_int_equal(amounts_check(a, &err), -EINVAL);
	if (!strstr(err.text, refused))
		fail_msg("%s: %s", name, err.text);
	assert_int_equal(attrs_change(a, ATTR_UNSET, attr, NULL, &err), 0);
}

/* Names that -l uses otherwise, numbers, and one more than a site can have. */
static void names_are_checked(void **state_)
{
	static const char *const taken[] = {
		"walltime",  "nodes", "select", "ncpus",    "procs",	  "ppn",	 "mem",	     "pmem",
		"gpus",	     "ngpus", "place",	"qos",	    "advres",	  "reservation", "estimate", "deadline",
		"budget",    "vmem",  "pvmem",	"file",	    "cput",	  "pcput",	 "nodect",   "procct",
		"partition", "host",  "vnode",	"mpiprocs", "ompthreads", "disk",	 "swap",     "naccesspolicy",
	};
	struct attrs a;
	char name[16];

	(void)state_;
	attrs_init(&a, ATTR_SERVER);
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		add(&a, taken[i], "the name is reserved");
	add(&a, "12", "a name needs a letter");
	add(&a, "1a", NULL);
	for (int i = 1; i < AMOUNTS_MAX; i++) {
		snprintf(name, sizeof name, "x%d", i);
		add(&a, name, NULL);
	}
	add(&a, "more", "a site can have at most 64");
	attrs_fini(&a);
}

static void reports_are_read(void **state_)
{
	static const struct {
		const char *text, *error;
	} bad[] = {
		{"matlab", "line 1: a line must be \"NAME TOTAL [IN-USE-ELSEWHERE]\""},
		{"a 1\nmatlab 1 2 3\n", "line 2: a line must be \"NAME TOTAL [IN-USE-ELSEWHERE]\""},
		{"a -1", "line 1: the total must be a whole number from 0 to 999999999999, not \"-1\""},
		{"a 1 x", "line 1: what is in use elsewhere must be a whole number from 0 to 999999999999, not \"x\""}};
	static const char good[] = "# lmstat\n\nmatlab 20 5 # of them\r\n\tansys\t8\n";
	amount_reports all = {0};
	struct err err;

	(void)state_;
	assert_int_equal(amounts_report_read(good, sizeof good - 1, &all, &err), 0);
	assert_int_equal(all.n, 2);
	assert_string_equal(all.v[0].name, "matlab");
	assert_int_equal(amounts_elsewhere(20, &all.v[0]), 5);
	assert_int_equal(amounts_elsewhere(30, &all.v[0]), 15); /* ten that are set are not there */
	assert_int_equal(amounts_elsewhere(10, &all.v[0]), 5);
	assert_int_equal(amounts_elsewhere(8, &all.v[1]), 0);
	vec_free(&all);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(amounts_report_read(bad[i].text, strlen(bad[i].text), &all, &err), -EINVAL);
		assert_string_equal(err.text, bad[i].error);
		assert_int_equal(all.n, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(held_licences_keep_a_job_waiting),
		cmocka_unit_test(backfill_respects_them),
		cmocka_unit_test(chunks_count),
		cmocka_unit_test(lowered_below_use),
		cmocka_unit_test(used_elsewhere),
		cmocka_unit_test(every_reason),
		cmocka_unit_test(never_enough),
		cmocka_unit_test(overrun),
		cmocka_unit_test(emergency_takes_none),
		cmocka_unit_test(kept_for_some),
		cmocka_unit_test(the_question_changes_nothing),
		cmocka_unit_test(a_place_outlives_the_key),
		cmocka_unit_test(requests_are_judged),
		cmocka_unit_test(set_by_attributes),
		cmocka_unit_test(names_are_checked),
		cmocka_unit_test(reports_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
