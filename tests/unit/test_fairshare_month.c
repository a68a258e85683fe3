/*
 * test_fairshare_month.c - accounts get their targets over a simulated month, within 2 percent,
 * when all of them have work waiting and no job takes more than a thousandth of the month. Also
 * below other accounts, and for groups and users. No job is so wide that narrow ones fill most of
 * the holes while it waits for its own: what nobody else can use is not kept idle, so that narrow
 * jobs get more than their share then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "rules/queue.h"
#include "sim/sim.h"

#define CPUS 8
#define MONTH (30 * 86400)

/* Who submits jobs of which sizes, and is to get how much. */
struct party {
	const char *account, *group, *user;
	double part;	      /* share of the machine */
	int cpus_lo, cpus_hi; /* CPUs of each job */
	int run_lo, run_hi;   /* seconds */
};

static void set(struct attrs *a, const char *name, const char *value)
{
	struct err err;

	if (attrs_change(a, ATTR_SET, name, value, &err) < 0)
		fail_msg("%s", err.text);
}

static void site_make(struct ruleset *site)
{
	ruleset_init(site);
	ruleset_add(site, "batch");
	set(&site->queues.v[0].attrs, "enabled", "True");
	set(&site->queues.v[0].attrs, "started", "True");
	set(&site->attrs, "default_queue", "batch");
	set(&site->attrs, "priority_order", "sum");
	set(&site->attrs, "priority_weight.fairshare", "1000");
	set(&site->attrs, "priority_weight.queue_time", "0");
}

static void aim(struct ruleset *site, enum object_kind kind, const char *name, const char *target, const char *parent)
{
	struct object *x = object_make(&site->objects, kind, name);

	set(&x->attrs, "fairshare", target);
	if (parent)
		set(&x->attrs, "parent", parent);
}

static int submit_cmp(const void *a, const void *b)
{
	return atoi((const char *)a + 3) - atoi((const char *)b + 3);
}

/* Each submits a little more than its part, so that its queue never empties. */
static int64_t work_write(FILE *out, const struct party *p, size_t n, uint8_t *ret_party)
{
	enum { LINE = 160, MOST = 40000 };
	char(*line)[LINE] = calloc(MOST, LINE);
	int64_t jobs = 0;
	struct rng rng;

	rng_seed(&rng, 11);
	for (size_t i = 0; i < n; i++)
		for (double at = -86400, rate = 1.01 * p[i].part * CPUS; at < MONTH;) {
			int64_t cpus = rng_range(&rng, p[i].cpus_lo, p[i].cpus_hi),
				run = rng_range(&rng, p[i].run_lo, p[i].run_hi);
			assert_true(jobs < MOST);
			snprintf(line[jobs++], LINE, "at=%d user=%s req=ncpus=%d run=%d walltime=%d groups=%s%s%s # %d",
				 at < 0 ? 0 : (int)at, p[i].user, (int)cpus, (int)run, (int)run, p[i].group,
				 p[i].account ? " account=" : "", p[i].account ? p[i].account : "", (int)i);
			at += (double)(cpus * run) / rate;
		}
	qsort(line, (size_t)jobs, LINE, submit_cmp);
	fprintf(out, "#shunt-workload 1\nmachine nodes:%dx8\n", CPUS / 8);
	for (int64_t i = 0; i < jobs; i++) {
		char *mark = strstr(line[i], " # ");
		ret_party[i] = (uint8_t)atoi(mark + 3);
		fprintf(out, "%.*s\n", (int)(mark - line[i]), line[i]);
	}
	free(line);
	return jobs;
}

static void month(const struct ruleset *site, const struct party *p, size_t n)
{
	char path[] = "/tmp/shunt-shares-XXXXXX";
	uint8_t *party = calloc(40000, 1);
	double used[8] = {0}, all = 0;
	struct sim_result r = {0};
	struct sim_options o;
	struct workload *w;
	struct err err;
	FILE *out = fdopen(mkstemp(path), "w");

	assert_non_null(out);
	int64_t jobs = work_write(out, p, n, party);
	fclose(out);
	sim_options_init(&o);
	o.site = site;
	if (workload_read(path, RULES_SITE, 0, &w, &err) < 0)
		fail_msg("%s", err.text);
	o.machine = w->machine;
	if (sim_run(w, policy_find("easy"), &o, &r, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(r.n, jobs);
	for (int64_t i = 0; i < r.n; i++) {
		int64_t end = r.outcome[i].end < MONTH ? r.outcome[i].end : MONTH;
		if (r.outcome[i].start >= 0 && r.outcome[i].start < MONTH)
			used[party[i]] += (double)((end - r.outcome[i].start) * r.outcome[i].procs);
	}
	for (size_t i = 0; i < n; i++)
		all += used[i];
	assert_true(all > 0.9 * CPUS * MONTH);
	for (size_t i = 0; i < n; i++)
		if (used[i] < (p[i].part - 0.02) * all || used[i] > (p[i].part + 0.02) * all)
			fail_msg("%s/%s/%s: %.2f%% instead of %.0f%%", p[i].account, p[i].group, p[i].user,
				 100 * used[i] / all, 100 * p[i].part);
	sim_result_fini(&r);
	workload_destroy(w);
	unlink(path);
	free(party);
}

static void accounts(void **state)
{
	static const struct party p[] = {
		{"A", "g", "a", 0.5, 1, 2, 1200, 2592},
		{"B", "g", "b", 0.3, 2, 2, 1200, 2592},
		{"C", "g", "c", 0.2, 1, 3, 900, 2500},
	};
	struct ruleset site;

	(void)state;
	site_make(&site);
	aim(&site, OBJECT_ACCOUNT, "A", "50", NULL);
	aim(&site, OBJECT_ACCOUNT, "B", "30", NULL);
	aim(&site, OBJECT_ACCOUNT, "C", "20", NULL);
	month(&site, p, 3);
	ruleset_fini(&site);
}

/* Accounts below an account, with two users who are equal; groups with targets in the other. */
static void tree(void **state)
{
	static const struct party p[] = {
		{"lasers", "g", "l1", 0.24, 1, 2, 1200, 2592},	   {"lasers", "g", "l2", 0.24, 2, 3, 1200, 2592},
		{"optics", "g", "o", 0.12, 1, 3, 1200, 2592},	   {"biology", "cells", "b1", 0.3, 3, 3, 1200, 2000},
		{"biology", "genes", "b2", 0.1, 1, 1, 2000, 2500},
	};
	struct ruleset site;

	(void)state;
	site_make(&site);
	aim(&site, OBJECT_ACCOUNT, "physics", "60", NULL);
	aim(&site, OBJECT_ACCOUNT, "biology", "40", NULL);
	aim(&site, OBJECT_ACCOUNT, "lasers", "80", "physics");
	aim(&site, OBJECT_ACCOUNT, "optics", "20", "physics");
	aim(&site, OBJECT_GROUP, "cells", "75", NULL);
	month(&site, p, 5);
	ruleset_fini(&site);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accounts),
		cmocka_unit_test(tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
