/*
 * test_metrics.c - metrics and bounds against numbers worked out by hand, and against the reference
 * summary.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/lines.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "sim/metrics.h"
#include "support/reference.h"

static bool is_near(double got, double wanted)
{
	return fabs(got - wanted) < 1e-6 * fmax(1, fabs(wanted));
}
#define near(got, wanted) assert_true(is_near(got, wanted))

static struct simulated ran(int64_t submit, int64_t start, int64_t runtime, int64_t procs, uint32_t user)
{
	return (struct simulated){.submit = submit,
				  .start = start,
				  .end = start + runtime,
				  .runtime = runtime,
				  .estimate = runtime,
				  .procs = procs,
				  .user = user,
				  .deadline = TIME_NEVER};
}

static void three_jobs(void **state)
{
	(void)state;
	struct simulated o[] = {ran(0, 0, 100, 2, 0), ran(10, 100, 50, 4, 2), ran(20, 20, 5, 1, 0)};
	struct metrics m;

	metrics_compute(&m, o, 3, 4);
	assert_int_equal(m.jobs, 3);
	near(m.wait.mean, 30);
	near(m.wait.median, 0);
	near(m.wait.p90, 90);
	near(m.wait.max, 90);
	near(m.turnaround.mean, 245 / 3.0);
	near(m.turnaround.median, 100);
	near(m.slowdown.mean, 1.6);
	near(m.bslow.mean, 1.6);
	near(m.bslow.max, 2.8);
	near(m.ppbslow, 1);
	near(m.makespan, 150);
	near(m.utilisation, 405 / 600.0);
	near(m.awf, (200 * 100 + 200 * 140 + 5 * 5) / 405.0);
	near(m.loss_of_capacity, 0); /* the one that waits needs all four */
	near(m.user_wait_jain, 0.5);
	near(m.user_wait_worst, 90);
	assert_int_equal(m.size[0].jobs, 1);
	assert_int_equal(m.size[3].jobs, 2);
	near(m.size[3].wait, 45);
	near(m.size[3].bslow, 1.9);

	/* Squashed: 50 s, 50 s and 1.25 s; the third interrupts the first. */
	near(m.bound.turnaround_srpt, (51.25 + 91.25 + 1.25) / 3);
	near(m.bound.turnaround_trivial, 155 / 3.0);
	near(m.bound.turnaround, 155 / 3.0);
	near(m.bound.awf_busy, (200 * 75 + 200 * 90 + 5 * 83.125) / 405);
	near(m.bound.makespan, 101.25);
}

static void percentiles_are_nearest_ranks(void **state)
{
	(void)state;
	struct simulated o[200];
	struct metrics m;

	for (int i = 0; i < 200; i++)
		o[i] = ran(0, (i * 77) % 200 + 1, 1000, 1, 0); /* waits 1..200, out of order */
	metrics_compute(&m, o, 200, 4);
	near(m.wait.median, 100.5);
	near(m.wait.p90, 180);
	near(m.wait.p99, 198);
	near(m.wait.max, 200);
}

/* Two of four processors idle from 10 s on. From 30 to 40 s only one is, and the job that still
 * waits needs two. */
static void loss_counts_only_what_would_fit(void **state)
{
	(void)state;
	struct simulated o[] = {ran(0, 0, 100, 2, 0), ran(10, 50, 10, 2, 0), ran(20, 30, 10, 1, 0)};
	struct metrics m;

	metrics_compute(&m, o, 3, 4);
	near(m.loss_of_capacity, (20 + 20 + 0 + 20) / 400.0);
}

static void promises(void **state)
{
	(void)state;
	struct simulated o[] = {ran(0, 0, 10, 1, 0), ran(0, 0, 10, 1, 0), ran(0, 5, 10, 2, 0), ran(0, -1, 10, 1, 0)};
	struct metrics m;

	o[0].deadline = 10; /* met */
	o[1].deadline = 9;
	o[1].guaranteed = o[1].broken = true;
	o[2].deadline = 20;
	o[2].kind = KIND_EMERGENCY;
	o[2].preemptions = 2;
	o[2].lost = 7;
	o[3].deadline = 100; /* never ran */
	metrics_compute(&m, o, 4, 4);
	assert_int_equal(m.jobs, 3);
	assert_int_equal(m.deadlines, 4);
	assert_int_equal(m.deadlines_met, 2);
	assert_int_equal(m.expired, 1);
	assert_int_equal(m.guaranteed, 1);
	assert_int_equal(m.guarantees_broken, 1);
	assert_int_equal(m.emergency, 1);
	assert_int_equal(m.emergency_met, 1);
	assert_int_equal(m.preempted, 2);
	assert_int_equal(m.work_lost, 14);
	near(m.makespan, 15);
}

static void no_jobs(void **state)
{
	(void)state;
	struct metrics m;

	metrics_compute(&m, NULL, 0, 4);
	assert_int_equal(m.jobs, 0);
	near(m.utilisation, 0);
	near(m.bound.makespan, 0);
}

static void table_marks_the_best(void **state)
{
	(void)state;
	struct simulated o[] = {ran(0, 0, 100, 2, 0), ran(10, 1110, 50, 4, 2)};
	const char *names[] = {"slow", "fast"};
	struct metrics m[2];
	char *text;
	size_t n;

	metrics_compute(&m[0], o, 2, 4);
	o[1] = ran(10, 100, 50, 4, 2);
	metrics_compute(&m[1], o, 2, 4);
	FILE *f = open_memstream(&text, &n);
	metrics_print(names, m, 2, f);
	fclose(f);
	assert_non_null(strstr(text, "1,100 "));
	assert_non_null(strstr(text, "90.0*"));
	assert_null(strstr(text, "1,100*"));
	assert_null(strstr(text, "deadlines")); /* there are none */
	free(text);
}

static void csv_rows(void **state)
{
	(void)state;
	struct simulated o = ran(10, 100, 50, 4, 2);
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	o.id = 7;
	o.estimate = 60;
	outcomes_csv(&o, 1, f);
	fclose(f);
	assert_string_equal(text, "job_id,submit,procs,runtime,estimate,start,end\n7,10,4,50,60,100,150\n");
	free(text);
}

static void reference_compute(const char *trace, const char *policy, int64_t procs, struct metrics *ret)
{
	VEC(struct simulated) o = {0};
	reference_vec jobs = {0};

	reference_read(trace, policy, &jobs);
	for (size_t i = 0; i < jobs.n; i++) {
		const struct reference_job *j = &jobs.v[i];
		vec_push(&o, ran(j->submit, j->start, j->runtime, j->procs, 0));
	}
	metrics_compute(ret, o.v, (int64_t)o.n, procs);
	vec_free(&o);
	vec_free(&jobs);
}

static void reference_summary(void **state)
{
	(void)state;
	char *line;
	struct lines *in;
	int rows = 0;

	assert_int_equal(lines_open(REFERENCE "summary.csv", &in, NULL), 0);
	while (lines_next(in, &line, NULL) > 0) {
		char trace[64], policy[64];
		long long procs, jobs;
		double v[9];
		struct metrics m;
		if (sscanf(line, "%63[^,],%63[^,],%lld,%lld,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", trace, policy, &procs,
			   &jobs, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8]) != 13)
			continue;
		reference_compute(trace, policy, procs, &m);
		double got[9] = {m.wait.mean, m.turnaround.mean, m.bslow.mean, m.ppbslow, m.bslow.max, m.wait.max,
				 m.awf,	      m.makespan,	 m.utilisation};
		assert_int_equal(m.jobs, jobs);
		for (int i = 0; i < 9; i++)
			near(got[i], v[i]);
		assert_true(m.bound.turnaround <= m.turnaround.mean && m.bound.awf_busy <= m.awf);
		assert_true(m.bound.makespan <= m.makespan);
		rows++;
	}
	lines_close(in);
	assert_int_equal(rows, 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_jobs),
		cmocka_unit_test(percentiles_are_nearest_ranks),
		cmocka_unit_test(loss_counts_only_what_would_fit),
		cmocka_unit_test(promises),
		cmocka_unit_test(no_jobs),
		cmocka_unit_test(table_marks_the_best),
		cmocka_unit_test(csv_rows),
		cmocka_unit_test(reference_summary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
