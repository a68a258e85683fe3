/*
 * test_chart.c - what pictures are made of, and that gnuplot takes it.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/timetext.h"
#include "sim/chart_data.h"
#include "support/skip.h"

#define JOBS 5000

static struct simulated jobs[JOBS];

static struct simulated ran(int64_t submit, int64_t start, int64_t end, int64_t procs)
{
	return (struct simulated){.submit = submit,
				  .start = start,
				  .end = end,
				  .runtime = end - start,
				  .procs = procs,
				  .deadline = TIME_NEVER};
}

static void series_are_means(void **state)
{
	(void)state;
	struct simulated o[] = {ran(0, 100, 400, 2), ran(50, 50, 50 + 275, 1)};
	struct chart_run run = {"x", o, 2, 4};
	struct chart_series s;
	double use = 0, queue = 0;

	chart_series_compute(&s, &run, chart_span(&run, 1));
	for (int i = 0; i < CHART_SAMPLES; i++) {
		use += s.use[i];
		queue += s.queue[i];
	}
	assert_true(fabs(use - (300 * 2 + 275) / 4.0) < 1e-9); /* slices of a second */
	assert_true(fabs(queue - 100) < 1e-9);
	assert_true(fabs(s.use[200] - 0.75) < 1e-9);
}

/* No two boxes overlap, and every job has all its processors. */
static void gantt_boxes_are_disjoint(void **state)
{
	(void)state;
	struct simulated o[] = {
		ran(0, 0, 10, 2), ran(0, 0, 20, 2), ran(0, 0, 10, 1), ran(0, 10, 15, 3), ran(0, 15, 30, 2),
	};
	struct chart_run run = {"x", o, 5, 5};
	chart_boxes b = {0};
	int64_t held = 0;

	chart_gantt(&b, &run, (struct span){0, 30});
	for (size_t i = 0; i < b.n; i++) {
		held += b.v[i].last - b.v[i].first + 1;
		for (size_t k = 0; k < i; k++)
			assert_true(b.v[i].last < b.v[k].first || b.v[k].last < b.v[i].first ||
				    b.v[i].job->start >= b.v[k].job->end || b.v[k].job->start >= b.v[i].job->end);
	}
	assert_int_equal(held, 10);
	vec_free(&b);
}

/* Where more jobs run side by side than a window should have, halving it again and again does
 * not help: that ends after four times. */
static void window_of_many_jobs_at_once(void **state)
{
	(void)state;
	struct chart_run run = {"x", jobs, 200, 200};
	struct chart_series s;

	for (int i = 0; i < run.n; i++)
		jobs[i] = ran(0, 101, 1000, 1);
	struct span span = chart_span(&run, 1);
	chart_series_compute(&s, &run, span);
	struct span w = chart_window(&run, &s, span);
	assert_int_equal(w.from, 187); /* in the middle of 0 to 401 */
	assert_int_equal(w.to, 214);
}

/* The window has 80 of 1,000 jobs, where the queue is longest, and is halved if it has more than
 * 160. */
static void window_of_the_longest_queue(void **state)
{
	(void)state;
	struct chart_run run = {"x", jobs, 1000, 2000};
	struct chart_series s;
	struct span span, w;

	for (int i = 0; i < 1000; i++)
		jobs[i] = ran(4 * i, 4 * i + 1, 4 * i + 4, 1);
	for (int i = 700; i < 710; i++)
		jobs[i].submit -= 10;
	span = chart_span(&run, 1);
	assert_true(span.from == 0 && span.to == 4000);
	chart_series_compute(&s, &run, span);
	w = chart_window(&run, &s, span);
	assert_int_equal(w.from, 2520); /* the first 32 slices with all of them */
	assert_int_equal(w.to, 2841);

	for (run.n = 160; run.n <= 161; run.n++) {
		jobs[0] = ran(0, 0, 4000, 1);
		for (int i = 1; i < run.n; i++)
			jobs[i] = ran(1000, 2000, 2001, 1);
		chart_series_compute(&s, &run, span);
		w = chart_window(&run, &s, span);
		assert_int_equal(w.from, run.n == 160 ? 0 : 515);
		assert_int_equal(w.to, run.n == 160 ? 2001 : 1506);
	}
}

/* All Gantt charts show the busiest time of the first run, and the waits of jobs that ran in it. */
static void gantt_charts_of_the_first_run(void **state)
{
	(void)state;
	struct chart_run runs[] = {{"x", jobs, 1002, 500}, {"y", jobs + 1100, 1000, 500}};
	char *text = NULL, *at;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	int charts = 0;

	for (int i = 0; i < 1000; i++) {
		jobs[i] = jobs[1100 + i] = ran(40 * i, 40 * i + 10, 40 * i + 40, 1);
		if (i >= 700 && i < 710)
			jobs[i].submit -= 1000;
	}
	jobs[1000] = ran(0, 25000, 25300, 0);	  /* ends as the window begins */
	jobs[1001] = ran(24000, 28401, 28500, 0); /* starts as it ends */
	chart_run_script(f, "x.svg", "title", runs, 2);
	assert_int_equal(fclose(f), 0);
	for (at = text; (at = strstr(at, "set cbrange")) != NULL; charts++, at++)
		assert_true(strncmp(at, "set cbrange [1:60]\n", 19) == 0);
	assert_int_equal(charts, 2);
	for (at = text; (at = strstr(at, "set xrange [7.02778:7.88917]\n")) != NULL; at++)
		charts--;
	assert_int_equal(charts, 0);
	free(text);
}

static void random_jobs(void)
{
	struct rng rng;

	rng_seed(&rng, 1);
	for (int i = 0; i < JOBS; i++) {
		int64_t submit = i * 60, start = submit + rng_range(&rng, 0, 5000);
		jobs[i] = ran(submit, start, start + rng_range(&rng, 1, 4000), rng_range(&rng, 1, 4));
		jobs[i].deadline = i % 10 ? TIME_NEVER : start + 10000;
	}
}

static int64_t size_and_remove(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	unlink(path);
	return st.st_size;
}

static bool file_has(const char *path, const char *text)
{
	FILE *f = fopen(path, "r");
	char line[4096];
	bool found = false;

	assert_non_null(f);
	while (!found && fgets(line, sizeof line, f))
		found = strstr(line, text) != NULL;
	fclose(f);
	return found;
}

static void pictures_are_drawn(void **state)
{
	(void)state;
	struct chart_run runs[] = {{"it's one", jobs, JOBS, 256}, {"two", jobs, JOBS, 256}, {"empty", jobs, 0, 256}};
	const char *group[] = {"a", "b"}, *series[] = {"x", "y"};
	const double value[] = {1, 2, 3, 4}, deviation[] = {.1, .2, .3, .4};
	struct chart_bars bars = {.title = "bars",
				  .ylabel = "times",
				  .group = group,
				  .series = series,
				  .ngroups = 2,
				  .nseries = 2,
				  .value = value,
				  .deviation = deviation};
	char path[64];
	struct err err = {.text = ""};

	random_jobs();
	snprintf(path, sizeof path, "/tmp/test_chart.%d.svg", (int)getpid());
	int rc = chart_run_draw(path, "title", runs, 3, &err);
	if (rc == -ENOENT) {
		skip_because("gnuplot is not installed");
	}
	if (rc != 0)
		fail_msg("%s", err.text);
	assert_true(file_has(path, "orange edge: with a deadline"));
	assert_int_equal(chart_run_draw(path, "nobody ran", &runs[2], 1, &err), 0);
	int64_t size = size_and_remove(path);
	assert_true(size > 10000 && size < 300000);
	assert_int_equal(chart_bars_draw(path, &bars, &err), 0);
	assert_true(size_and_remove(path) > 1000);

	/* Values below 1 are also drawn: to 0.125 at the bottom. */
	bars.value = (const double[]){0.2, 3, 1, 15};
	bars.deviation = NULL;
	bars.ratios = true;
	bars.shades = 2;
	assert_int_equal(chart_bars_draw(path, &bars, &err), 0);
	assert_true(file_has(path, ">0.125<"));
	assert_true(file_has(path, ">16<"));
	assert_false(file_has(path, ">32<"));
	assert_false(file_has(path, ">0.063<"));
	size_and_remove(path);

	/* From a half to two times, if all values are between. */
	bars.value = (const double[]){0.9, 1, 1.2, 2};
	assert_int_equal(chart_bars_draw(path, &bars, &err), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(file_has(path, (const char *[]){">0.25<", ">0.5<", ">1<", ">2<", ">4<"}[i]),
				 i > 0 && i < 4);
	size_and_remove(path);

	assert_int_equal(chart_run_draw("x.gif", "title", runs, 1, &err), -EINVAL);
	assert_int_equal(chart_run_draw("/proc/x.svg", "title", runs, 1, &err), -ENOENT);
	assert_string_equal(err.text, "/proc/x.svg: No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(series_are_means),
		cmocka_unit_test(gantt_boxes_are_disjoint),
		cmocka_unit_test(window_of_many_jobs_at_once),
		cmocka_unit_test(window_of_the_longest_queue),
		cmocka_unit_test(gantt_charts_of_the_first_run),
		cmocka_unit_test(pictures_are_drawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
