/*
 * test_experiment_bag.c - the bag experiment on a small trace: it reports, keeps its results, and
 * continues from them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lab/experiment.h"
#include "sim/workload.h"

static char folder[] = "/tmp/test_experiment_bag.XXXXXX", trace[64], results[64];

static int setup(void **state)
{
	struct workload *w = generate_lublin(128, 400, 1);
	FILE *out;

	if (!mkdtemp(folder))
		return -1;
	snprintf(trace, sizeof trace, "%s/SDSC-SP2-small.swf", folder);
	snprintf(results, sizeof results, "%s/results", folder);
	out = fopen(trace, "w");
	fprintf(out, "; MaxProcs: 128\n");
	for (size_t i = 0; i < w->jobs.n; i++)
		fprintf(out, "%zu %lld -1 %lld %d -1 -1 %d %lld -1 1 1 1 -1 -1 -1 -1 -1\n", i + 1,
			(long long)w->jobs.v[i].submit, (long long)w->jobs.v[i].runtime, w->jobs.v[i].procs,
			w->jobs.v[i].procs, (long long)(3 * w->jobs.v[i].runtime + 60));
	workload_destroy(w);
	return fclose(out);
}

static int teardown(void **state)
{
	unlink(trace);
	unlink(results);
	return rmdir(folder);
}

/* What it prints; the caller frees it. */
static char *report(const struct bag_options *o)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	struct err err;
	int rc = experiment_bag(o, out, &err);

	fclose(out);
	if (rc < 0)
		fail_msg("%s", err.text);
	return text;
}

static char *contents(const char *path)
{
	char *text = calloc(1, 1 << 20);
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	assert_true(fread(text, 1, (1 << 20) - 1, in) > 0);
	fclose(in);
	return text;
}

static void goes_on_from_its_results(void **state)
{
	struct bag_options o = {.dir = folder,
				.results = results,
				.heuristics = "adaptive,ours",
				.sites = "SDSC-SP2",
				.repetitions = 2,
				.most_tasks = 100,
				.workers = 1,
				.quick = true};
	char *all = report(&o), *kept = contents(results), *again, *cut;

	assert_non_null(strstr(all, "SDSC-SP2"));
	assert_non_null(strstr(all, "ours"));
	assert_non_null(strstr(kept, "SDSC-SP2 1 done\n"));

	again = report(&o); /* nothing is simulated */
	assert_string_equal(all, again);
	free(again);
	again = contents(results);
	assert_string_equal(kept, again);
	free(again);

	/* interrupted in the middle of a line: what is missing is simulated, and comes out as
	 * before */
	cut = strstr(kept, "SDSC-SP2 1 ");
	cut = strchr(cut, '\n') + 20;
	assert_int_equal(truncate(results, cut - kept), 0);
	o.report_only = true;
	again = report(&o);
	assert_non_null(strstr(again, "not simulated yet"));
	free(again);
	o.report_only = false;
	again = report(&o);
	assert_string_equal(all, again);
	free(again);
	again = report(&o); /* and is read back as it was */
	assert_string_equal(all, again);
	free(again);
	free(all);
	free(kept);
}

/* Times are known to within any error after ten instants; another heuristic is simulated at
 * those, and static is not simulated again. */
static void stops_when_enough_is_known(void **state)
{
	struct bag_options o = {.dir = folder,
				.results = results,
				.heuristics = "adaptive",
				.sites = "SDSC-SP2",
				.repetitions = 12,
				.precision = 1e6,
				.most_tasks = 100,
				.workers = 1,
				.quick = true};
	char *all, *kept;

	unlink(results);
	all = report(&o);
	kept = contents(results);
	assert_non_null(strstr(kept, "SDSC-SP2 9 done\n"));
	assert_null(strstr(kept, "SDSC-SP2 10 "));
	free(all);
	free(kept);
	o.heuristics = "adaptive,mixed";
	all = report(&o);
	kept = contents(results);
	assert_non_null(strstr(all, "mixed"));
	assert_null(strstr(kept, "SDSC-SP2 10 "));
	free(all);
	free(kept);
}

/* Returns the number behind the words. Inlined, gcc 12 takes the result of strstr for dangling. */
static double __attribute__((noinline)) number_after(const char *text, const char *words)
{
	const char *at = strstr(text, words);

	assert_non_null(at);
	return strtod(at + strlen(words), NULL);
}

/* A site with the source's load is scaled to it, and its bags are kept apart from those at the
 * recorded load; another base turns the comparison around. */
static void loads_and_bases(void **state)
{
	struct bag_options o = {.dir = folder,
				.results = results,
				.heuristics = "static-max",
				.sites = "SDSC-SP2,SDSC-SP2-source",
				.repetitions = 2,
				.most_tasks = 100,
				.workers = 1,
				.quick = true};
	char *forth, *back;

	unlink(results);
	forth = report(&o);
	assert_non_null(strstr(forth, "SDSC-SP2-source: 128 processors, offered load 72%"));
	assert_null(strstr(forth, "SDSC-SP2: 128 processors, offered load 72%"));
	o.base = "static-max";
	o.heuristics = "static";
	back = report(&o);
	assert_true(number_after(forth, "SDSC-SP2-source  static-max ") < 1);
	assert_true(number_after(back, "SDSC-SP2-source  static ") > 1);
	free(forth);
	free(back);

	o.base = "magic";
	struct err err;
	assert_true(experiment_bag(&o, stdout, &err) < 0);
	assert_non_null(strstr(err.text, "magic: not a heuristic"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goes_on_from_its_results),
		cmocka_unit_test(stops_when_enough_is_known),
		cmocka_unit_test(loads_and_bases),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
