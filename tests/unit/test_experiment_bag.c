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

#include "base/strbuf.h"
#include "golden/recorded.h"
#include "lab/experiment.h"
#include "lab/experiment_bag.h"
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

/* Each line has the times of a bag, "SITE REPETITION TYPE REQUESTS HEURISTIC:SECONDS:WASTED ...",
 * or ends a repetition. */
static void lines_check(const char *text)
{
	int n;

	for (; *text; text += strcspn(text, "\n") + 1) {
		n = 0;
		sscanf(text, "SDSC-SP2 %*d done%n", &n);
		if (!n)
			sscanf(text, "SDSC-SP2 %*d %*d %*d %*[a-z]:%*d:%*d%n", &n);
		if (!n)
			fail_msg("%.*s", (int)strcspn(text, "\n"), text);
	}
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
	lines_check(kept);

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

/* Bags whose times are known, at two sites: some types and numbers of requests only, and one bag
 * that not every heuristic has run. */
static void results_make(struct bag_results *r)
{
	*r = (struct bag_results){.repetitions = 12,
				  .base = ADAPTER_STATIC,
				  .heuristic = {[ADAPTER_STATIC] = true,
						[ADAPTER_INITIAL] = true,
						[ADAPTER_ADAPTIVE] = true,
						[ADAPTER_OURS] = true},
				  .missing = 7};
	for (int site = 0; site < 2; site++) {
		r->cell[site] = calloc(12 * BAG_TYPES * BAG_PENDING, sizeof *r->cell[site]);
		r->load[site] = 0.5 + 0.25 * site;
	}
	for (int i = 0; i < 2 * 12 * BAG_TYPES * BAG_PENDING; i++) {
		int site = i % 2, rep = i / 2 % 12, type = i / 24 % BAG_TYPES, pending = i / 24 / BAG_TYPES;
		struct bag_cell *c = bag_cell_at(r, site, rep, type, pending);
		float base = (float)(1000 * (type + 1) + 64 * ((rep * 5 + pending * 3) % 11));
		if (type % 4 != site || pending % 3 == 2 || (type == 8 && rep > 3))
			continue;
		c->run = true;
		c->seconds[ADAPTER_STATIC] = base;
		c->wasted[ADAPTER_STATIC] = 2 * base;
		c->seconds[ADAPTER_ADAPTIVE] = type % 3 == 1 ? base + 256 : base / 2 + (float)(rep % 3 * 8);
		c->wasted[ADAPTER_ADAPTIVE] = base * (float)(1 + type % 3);
		c->seconds[ADAPTER_OURS] = rep == 7 && type == 4 ? 0 : base / (float)(2 << (rep + type) % 3);
		c->wasted[ADAPTER_OURS] = base / 4;
		if (bag_type_small(type))
			c->seconds[ADAPTER_INITIAL] = base * 2, c->wasted[ADAPTER_INITIAL] = base;
	}
}

/* Appends a text with at most four digits behind a point. */
static void numbers_put(struct strbuf *out, const char *text)
{
	for (; *text; text++) {
		strbuf_add(out, text, 1);
		if (*text != '.' || text[1] < '0' || text[1] > '9')
			continue;
		size_t n = strspn(text + 1, "0123456789");
		strbuf_add(out, text + 1, n < 4 ? n : 4);
		text += n;
	}
}

/* What is reported of results that are known: all numbers, as a table and as JSON. */
static void all_numbers(void **state)
{
	struct bag_results r;
	struct strbuf all = {0};
	char *text[2];
	size_t n;

	results_make(&r);
	for (int i = 0; i < 2; i++) {
		FILE *out = open_memstream(&text[i], &n);
		if (i == 0)
			bag_report(&r, true, out);
		else
			bag_report_json(&r, out);
		fclose(out);
		numbers_put(&all, text[i]);
		free(text[i]);
	}
	for (int type = 0; type < BAG_TYPES; type++) {
		strbuf_printf(&all, "type %d:", type);
		for (int share = 1; share <= 16; share *= 2)
			strbuf_printf(&all, " %d", bag_is_known(&r, type % 2, type, 0, share / 100.0));
		strbuf_puts(&all, "\n");
	}
	recorded_compare(SHUNT_ROOT "/tests/golden/experiment_bag.txt", "type", &all);
	for (int site = 0; site < 2; site++)
		free(r.cell[site]);
	strbuf_fini(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goes_on_from_its_results),
		cmocka_unit_test(stops_when_enough_is_known),
		cmocka_unit_test(loads_and_bases),
		cmocka_unit_test(all_numbers),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
