/*
 * test_reference.c - job by job against the schedules of an independent simulator
 * (docs/simulator.md): every start must agree.
 *
 * The first columns of a trace's file are the input, so that it is read twice: as a workload, and
 * for its starts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/lines.h"
#include "sim/sim.h"
#include "support/reference.h"

static const struct reference {
	const char *trace, *file, *policy;
	const char *machine;
	const char *users; /* whose the jobs are, where the policy asks */
} references[] = {
	{"SDSC-SP2-first5000lines", "fcfs", "fcfs", "flat:128", NULL},
	{"SDSC-SP2-first5000lines", "easy", "easy", "flat:128", NULL},
	{"SDSC-SP2-first5000lines", "easy_sjbf", "easy-sjbf", "flat:128", NULL},
	{"SDSC-SP2-first5000lines", "easypp_tsafrir_reqtime", "easy++", "flat:128", "SDSC-SP2-first5000lines.users.gz"},
	{"SDSC-SP2-first5000lines", "easy_clairvoyant", "easy-clairvoyant", "flat:128", NULL},
	{"SDSC-SP2-first5000lines", "easy_sjbf_clairvoyant", "easy-sjbf-clairvoyant", "flat:128", NULL},
	{"SDSC-SP2-first5000lines", "conservative", "conservative", "flat:128", NULL},
	{"lublin_256", "fcfs", "fcfs", "flat:256", NULL},
	{"lublin_256", "easy", "easy", "flat:256", NULL},
	{"lublin_256", "easy_sjbf", "easy-sjbf", "flat:256", NULL},
	{"lublin_256", "conservative", "conservative", "flat:256", NULL},
};
#define NREFERENCES (sizeof references / sizeof *references)

static struct workload *read_workload(const char *path)
{
	struct workload *w;
	struct err err;

	if (workload_read(path, RULES_SC15, 0, &w, &err) != 0)
		fail_msg("%s: %s", path, err.text);
	return w;
}

static void read_users(struct workload *w, const char *name)
{
	char path[4096], *line;
	struct lines *in;
	struct map user = {0};
	struct err err;

	snprintf(path, sizeof path, REFERENCE "%s", name);
	if (lines_open(path, &in, &err) != 0)
		fail_msg("%s", err.text);
	while (lines_next(in, &line, &err) == 1) {
		unsigned long long job;
		char text[32];
		if (*line != '#' && sscanf(line, "%llu %31s", &job, text) == 2)
			map_set(&user, job, names_add(&w->users, text));
	}
	lines_close(in);
	for (size_t i = 0; i < w->jobs.n; i++) {
		uint64_t u;
		assert_true(map_get(&user, (uint64_t)w->jobs.v[i].id, &u));
		w->jobs.v[i].user = (uint32_t)u;
	}
	map_fini(&user);
}

static void test_reference(void **state)
{
	const struct reference *r = *state;
	const struct policy *policy = policy_find(r->policy);
	char path[4096];
	reference_vec jobs = {0};
	struct map starts = {0};
	struct sim_options o;
	struct sim_result result;
	struct err err;
	int64_t differ = 0;

	assert_non_null(policy);
	struct workload *w = read_workload(reference_path(path, sizeof path, r->trace));
	reference_read(r->trace, r->file, &jobs);
	for (size_t i = 0; i < jobs.n; i++)
		map_set(&starts, (uint64_t)jobs.v[i].id, (uint64_t)jobs.v[i].start);
	assert_int_equal(w->jobs.n, starts.n);
	assert_true(w->jobs.n >= 4606);
	if (r->users)
		read_users(w, r->users);
	sim_options_init(&o);
	o.machine = r->machine;
	o.settings.starve_after = TIME_NEVER;
	assert_int_equal(sim_run(w, policy, &o, &result, &err), 0);
	assert_int_equal(result.n, w->jobs.n);
	assert_int_equal(result.refused, 0);
	for (int64_t i = 0; i < result.n; i++) {
		uint64_t want;
		assert_true(map_get(&starts, (uint64_t)result.outcome[i].id, &want));
		if (result.outcome[i].start == (int64_t)want)
			continue;
		if (differ++ < 5)
			print_message("# job %lld starts at %lld, reference %lld\n", (long long)result.outcome[i].id,
				      (long long)result.outcome[i].start, (long long)want);
	}
	if (differ)
		fail_msg("%lld of %lld starts differ", (long long)differ, (long long)result.n);
	sim_result_fini(&result);
	workload_destroy(w);
	map_fini(&starts);
	vec_free(&jobs);
}

int main(void)
{
	struct CMUnitTest tests[NREFERENCES];
	char name[NREFERENCES][96];

	for (size_t i = 0; i < NREFERENCES; i++) {
		snprintf(name[i], sizeof name[i], "%s %s", references[i].trace, references[i].file);
		tests[i] = (struct CMUnitTest){name[i], test_reference, NULL, NULL, (void *)&references[i]};
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
