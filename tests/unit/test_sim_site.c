/*
 * test_sim_site.c - what a site's rules do at one instant in the simulator.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rules/queue.h"
#include "sim/sim.h"

#define EPOCH 1800000000 /* 2027-01-15 08:00 UTC */

/* A reservation begins at 100, when a job comes whose deadline can't be guaranteed. */
static const char work[] =
	"#shunt-workload 1\n"
	"machine nodes:1x8\n"
	"at=1800000000 user=a req=ncpus=8 run=10 walltime=50 reservation=course\n"
	"at=1800000100 user=a req=ncpus=8 run=10 walltime=50 type=Q deadline=1800000120 estimate=50 budget=100:00:00\n"
	"at=1800000120 user=a req=ncpus=8 run=10 walltime=50 reservation=course\n";

static void set(struct attrs *a, const char *name, const char *value)
{
	struct err err;

	if (attrs_change(a, ATTR_SET, name, value, &err) < 0)
		fail_msg("%s", err.text);
}

static void site_make(struct ruleset *site)
{
	struct attrs *course;

	ruleset_init(site);
	ruleset_add(site, "batch");
	set(&site->queues.v[0].attrs, "enabled", "True");
	set(&site->queues.v[0].attrs, "started", "True");
	set(&site->attrs, "default_queue", "batch");
	course = &object_make(&site->objects, OBJECT_RESERVATION, "course")->attrs;
	set(course, "nodes", "all");
	set(course, "start", "2027-01-15T08:01:40Z");
	set(course, "duration", "1000");
	set(course, "acl_users", "*");
}

/* Three jobs in no hurry, for each of which a shared node of two CPUs needs 0.695 CPUs, and one
 * without a budget. */
static const char divided[] = "#shunt-workload 1\n"
			      "machine nodes:2x2\n"
			      "at=0 user=a req=ncpus=2 run=1800 type=Q deadline=10800 estimate=3600 budget=100:00:00\n"
			      "at=0 user=a req=ncpus=2 run=1800 type=Q deadline=10800 estimate=3600 budget=100:00:00\n"
			      "at=0 user=a req=ncpus=2 run=1800 type=Q deadline=10800 estimate=3600 budget=100:00:00\n"
			      "at=1 user=a req=ncpus=2 run=200 walltime=200\n";

/* Simulates a workload with every invariant checked. */
static int simulate(const char *text, const char *policy, const struct ruleset *site, const name_list *shared,
		    struct sim_result *ret, struct err *err)
{
	char path[] = "/tmp/shunt-site-XXXXXX";
	struct sim_options o;
	struct workload *w;
	int fd = mkstemp(path), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	sim_options_init(&o);
	o.site = site;
	o.shared = shared;
	o.check = true;
	rc = workload_read(path, RULES_SITE, 0, &w, err);
	unlink(path);
	if (rc < 0)
		return rc;
	o.machine = w->machine;
	rc = sim_run(w, policy_find(policy), &o, ret, err);
	workload_destroy(w);
	return rc;
}

/* Before it refuses that job, the scheduler has decided, and started another, which ends as any
 * other does. */
static void a_refusal_starts_others(void **state)
{
	struct sim_result r = {0};
	struct ruleset site;
	struct err err;

	(void)state;
	site_make(&site);
	if (simulate(work, "easy", &site, NULL, &r, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(r.n, 3);
	assert_int_equal(r.outcome[0].start, EPOCH + 100);
	assert_int_equal(r.outcome[1].start, -1);
	assert_int_equal(r.outcome[1].procs, 0);
	assert_int_equal(r.outcome[2].start, EPOCH + 120);
	sim_result_fini(&r);
	ruleset_fini(&site);
}

/* Two of the jobs share the node until their work is done, and no other job uses it. */
static void a_shared_node_is_divided(void **state)
{
	static char *names[] = {"n2", "n3"};
	const name_list one = {.v = names, .n = 1}, unknown = {.v = names, .n = 2};
	static const struct {
		int64_t share, start, end;
	} expected[] = {{695, 0, 5180}, {695, 0, 5180}, {0, 0, 1800}, {0, 1800, 2000}};
	struct sim_result r = {0};
	struct metrics m;
	struct err err;

	(void)state;
	if (simulate(divided, "shunt", NULL, &one, &r, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(r.n, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(r.outcome[i].share, expected[i].share);
		assert_int_equal(r.outcome[i].start, expected[i].start);
		assert_int_equal(r.outcome[i].end, expected[i].end);
	}
	assert_int_equal(r.procs, 2);
	metrics_compute(&m, r.outcome, r.n, r.procs);
	assert_true(m.utilisation > 0.386 && m.utilisation < 0.387); /* 2,000 of 5,180 s */
	sim_result_fini(&r);
	assert_int_equal(simulate(divided, "shunt", NULL, &unknown, &r, &err), -EINVAL);
	assert_string_equal(err.text, "node n3 is shared, and the machine has no node of that name");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_refusal_starts_others),
					   cmocka_unit_test(a_shared_node_is_divided)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
