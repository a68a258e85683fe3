/*
 * test_sim_site.c - what a site's rules do at one instant in the simulator.
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

/* Before it refuses that job, the scheduler has decided, and started another, which ends as any
 * other does. */
static void a_refusal_starts_others(void **state)
{
	char path[] = "/tmp/shunt-site-XXXXXX";
	struct sim_result r = {0};
	struct sim_options o;
	struct ruleset site;
	struct workload *w;
	struct err err;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, work, strlen(work)), strlen(work));
	close(fd);
	site_make(&site);
	sim_options_init(&o);
	o.site = &site;
	o.check = true;
	if (workload_read(path, RULES_SITE, 0, &w, &err) < 0)
		fail_msg("%s", err.text);
	o.machine = w->machine;
	if (sim_run(w, policy_find("easy"), &o, &r, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(r.n, 3);
	assert_int_equal(r.outcome[0].start, EPOCH + 100);
	assert_int_equal(r.outcome[1].start, -1);
	assert_int_equal(r.outcome[1].procs, 0);
	assert_int_equal(r.outcome[2].start, EPOCH + 120);
	sim_result_fini(&r);
	workload_destroy(w);
	ruleset_fini(&site);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_refusal_starts_others)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
