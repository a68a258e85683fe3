/*
 * test_golden.c - recorded schedules of three small workloads, for every policy, that must stay as
 * they are.
 *
 * The workloads are files, so that only the scheduler is under test. If a change of decisions is
 * intended, run
 *	SHUNT_GOLDEN=write meson test -C build golden
 * and explain in the commit why the schedules changed. SHUNT_GOLDEN=workloads also generates the
 * workloads again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/lines.h"
#include "base/strbuf.h"
#include "golden/recorded.h"
#include "sim/bagsim.h"
#include "sim/sim.h"

#define FOLDER SHUNT_ROOT "/tests/golden/"

static const struct golden {
	const char *name, *machine;
	int64_t starve_after; /* seconds, or STARVE_AUTO */
} goldens[] = {
	{"nodes", "nodes:12x8", 1800},		   /* the generated model C, with QoS and emergency jobs */
	{"flat", "flat:64", STARVE_AUTO},	   /* Lublin and Feitelson */
	{"whole", "nodes:10x8+2x16", STARVE_AUTO}, /* model C, and a third of the jobs has whole nodes */
};

static bool asked_to(const char *what)
{
	const char *s = getenv("SHUNT_GOLDEN");

	return s && (strcmp(s, what) == 0 || strcmp(s, "workloads") == 0);
}

/* The same request for whole nodes. */
static int32_t with_whole(struct workload *w, int32_t text)
{
	struct reqtext r = w->texts.v[text];
	struct strbuf changed = {0};
	int64_t walltime;
	int32_t ret = 0;

	r.whole = WHOLE_NODE;
	reqtext_format(&r, &changed);
	assert_int_equal(workload_request(w, strbuf_text(&changed), &ret, &walltime, NULL), 0);
	strbuf_fini(&changed);
	return ret;
}

static void make_workload(const struct golden *g, const char *path)
{
	struct oscar_model m = {.model = 'C', .jobs = 100, .mean_gap = 120, .qos = 15, .emergency = 5, .seed = 1};
	bool flat = strcmp(g->name, "flat") == 0, whole = strcmp(g->name, "whole") == 0;
	struct workload *w;
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	w = flat ? generate_lublin(64, 120, 1) : generate_oscar(&m);
	for (size_t i = 0; whole && i < w->jobs.n; i += 3)
		w->jobs.v[i].text = with_whole(w, w->jobs.v[i].text);
	for (size_t i = 0; flat && i < w->jobs.n; i++) { /* a fuller machine, and estimates as they are */
		w->jobs.v[i].submit /= 3;
		w->jobs.v[i].walltime *= 1 + (int64_t)(i % 4);
	}
	workfile_write(w, out);
	assert_int_equal(fclose(out), 0);
	workload_destroy(w);
}

/* "policy easy", then a line for each job: id, start, end; - for those that never ran. */
static void run_policy(const struct golden *g, const struct workload *w, const struct policy *policy, uint64_t pace,
		       struct strbuf *out)
{
	struct sim_options o;
	struct sim_result r;
	struct err err;

	sim_options_init(&o);
	o.machine = g->machine;
	o.check = true;
	o.pace = pace;
	o.settings.tolerance = 10;
	o.settings.starve_after = g->starve_after;
	if (sim_run(w, policy, &o, &r, &err) != 0)
		fail_msg("%s: %s", policy->name, err.text);
	strbuf_printf(out, "policy %s\n", policy->name);
	for (int64_t i = 0; i < r.n; i++)
		if (r.outcome[i].start >= 0)
			strbuf_printf(out, "%lld %lld %lld\n", (long long)r.outcome[i].id,
				      (long long)r.outcome[i].start, (long long)r.outcome[i].end);
		else
			strbuf_printf(out, "%lld -\n", (long long)r.outcome[i].id);
	sim_result_fini(&r);
}

static void compare(const char *path, const char *text)
{
	struct lines *in;
	struct err err;
	char *line, policy[80] = "";

	if (lines_open(path, &in, &err) != 0)
		fail_msg("%s (make it with SHUNT_GOLDEN=write)", err.text);
	while (lines_next(in, &line, &err) == 1) {
		size_t n = strcspn(text, "\n");
		if (strncmp(line, "policy ", 7) == 0)
			snprintf(policy, sizeof policy, "%s", line);
		if (n != strlen(line) || strncmp(text, line, n) != 0)
			fail_msg("%s line %lld, %s: recorded \"%s\", now \"%.*s\"", path, (long long)lines_number(in),
				 policy, line, (int)n, text);
		text += n + (text[n] == '\n');
	}
	lines_close(in);
	assert_string_equal(text, "");
}

static void test_golden(void **state)
{
	const struct golden *g = *state;
	char work[4096], starts[4096];
	struct strbuf text = {0};
	struct workload *w;
	struct err err;

	snprintf(work, sizeof work, FOLDER "%s.work", g->name);
	snprintf(starts, sizeof starts, FOLDER "%s.starts", g->name);
	if (asked_to("workloads"))
		make_workload(g, work);
	if (workload_read(work, RULES_SITE, 0, &w, &err) != 0)
		fail_msg("%s", err.text);
	assert_true(w->jobs.n >= 100);
	for (int i = 0; i < npolicies; i++)
		run_policy(g, w, &policies[i], 0, &text);
	workload_destroy(w);
	if (asked_to("write")) {
		FILE *out = fopen(starts, "w");
		assert_non_null(out);
		assert_int_equal(fwrite(text.text, 1, text.n, out), text.n);
		assert_int_equal(fclose(out), 0);
	} else {
		compare(starts, strbuf_text(&text));
	}
	strbuf_fini(&text);
}

/* Cycles that end as early as they can and continue give the same schedule, whatever limit a cycle
 * has; without pushes, because what a slice has started is not pushed by the next one. */
static void test_paced(void **state)
{
	const struct golden *g = *state;
	struct strbuf whole = {0}, paced = {0};
	struct workload *w;
	char work[4096];
	struct err err;

	snprintf(work, sizeof work, FOLDER "%s.work", g->name);
	if (workload_read(work, RULES_SITE, 0, &w, &err) != 0)
		fail_msg("%s", err.text);
	for (int i = 0; i < npolicies; i++) {
		struct policy policy = policies[i];
		policy.push_depth = 0;
		strbuf_clear(&whole);
		strbuf_clear(&paced);
		run_policy(g, w, &policy, 0, &whole);
		run_policy(g, w, &policy, 1, &paced);
		assert_string_equal(strbuf_text(&paced), strbuf_text(&whole));
	}
	workload_destroy(w);
	strbuf_fini(&whole);
	strbuf_fini(&paced);
}

/* Bags of tasks on a cluster that runs a workload, by every heuristic: when they are done, what of
 * their requests was wasted, and how many were made, replaced and cut off. */
static void test_bags(void **state)
{
	static const struct bag_case cases[] = {
		{.limits = {4, 64, 18 * 3600, 0}, .type = {40, 600, 1}},
		{.limits = {3, 32, 2 * 3600, 0}, .type = {300, 600, 2}},
		{.limits = {8, 64, 18 * 3600, 0}, .type = {2000, 30, 4}},
	};
	struct strbuf text = {0};
	struct workload *w;
	struct err err;

	if (workload_read(FOLDER "flat.work", RULES_SITE, 0, &w, &err) != 0)
		fail_msg("%s", err.text);
	for (int h = 0; h < ADAPTER_HEURISTICS; h++) {
		struct bagsim *b = bagsim_create(w, 64);
		strbuf_printf(&text, "heuristic %s\n", adapter_name((enum adapter_heuristic)h));
		for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
			struct bag_case c = cases[i / 2];
			c.heuristic = (enum adapter_heuristic)h;
			c.seed = i;
			bagsim_advance(b, 20000 * ((int64_t)i + 1));
			struct bag_outcome o = bagsim_bag(b, &c, 10 * 86400);
			strbuf_printf(&text, "%lld %.0f %.0f %lld %lld %lld\n", (long long)o.seconds, o.allocated,
				      o.wasted, (long long)o.requests, (long long)o.replaced, (long long)o.cut);
		}
		bagsim_destroy(b);
	}
	workload_destroy(w);
	recorded_compare(FOLDER "bags.txt", "heuristic ", &text);
	strbuf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bags),
		{goldens[0].name, test_golden, NULL, NULL, (void *)&goldens[0]},
		{goldens[1].name, test_golden, NULL, NULL, (void *)&goldens[1]},
		{goldens[2].name, test_golden, NULL, NULL, (void *)&goldens[2]},
		{"nodes, paced", test_paced, NULL, NULL, (void *)&goldens[0]},
		{"flat, paced", test_paced, NULL, NULL, (void *)&goldens[1]},
		{"whole, paced", test_paced, NULL, NULL, (void *)&goldens[2]},
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
