/*
 * shaken.c - ratios of measures over copies of a workload whose submissions were moved.
 */
#include "cmd/sim/shaken.h"

#include <stddef.h>
#include <string.h>

#include "base/table.h"

static const struct measure {
	const char *key, *label;
	size_t at;
} measures[] = {
	{"turnaround_mean", "turnaround, mean", offsetof(struct metrics, turnaround.mean)},
	{"bslow_mean", "slowdown, bounded, mean", offsetof(struct metrics, bslow.mean)},
	{"awf", "turnaround, area-weighted", offsetof(struct metrics, awf)},
	{"wait_max", "wait, maximum", offsetof(struct metrics, wait.max)},
};
#define MEASURES ((int)(sizeof measures / sizeof *measures))

struct summary {
	double recorded, mean, worst; /* ratios; below 1 is better */
	int better;		      /* number of copies */
};

int shaken_base(const struct runs *r)
{
	for (int i = 0; i < r->policies; i++)
		if (strcmp(r->run[i].policy->name, "easy") == 0)
			return i;
	return 0;
}

static double ratio(const struct runs *r, int base, int p, int copy, size_t at)
{
	const struct run *of = &r->run[copy * r->policies + p], *to = &r->run[copy * r->policies + base];
	double a = run_measure(of, at), b = run_measure(to, at);

	return a == b ? 1 : a / b;
}

static struct summary summarise(const struct runs *r, int base, int p, size_t at)
{
	int copies = r->copies;
	struct summary s = {.recorded = ratio(r, base, p, 0, at)};

	for (int k = 1; k <= copies; k++) {
		double x = ratio(r, base, p, k, at);
		s.mean += x / copies;
		s.worst = k == 1 || x > s.worst ? x : s.worst;
		s.better += x < 1;
	}
	return s;
}

/* Returns the number of copies in which every measure is better; *ret_recorded says whether it is
 * in the recorded workload. */
static int better_in_all(const struct runs *r, int base, int p, bool *ret_recorded)
{
	int copies = r->copies, count = 0;

	for (int k = 0; k <= copies; k++) {
		bool all = true;
		for (int m = 0; m < MEASURES; m++)
			all &= ratio(r, base, p, k, measures[m].at) < 1;
		if (k == 0)
			*ret_recorded = all;
		else
			count += all;
	}
	return count;
}

static void policy_print(const struct runs *r, int base, int p, FILE *out)
{
	static const char *const columns[] = {"ratio", ">as recorded", ">copies: mean", ">worst", ">better in"};
	struct table *t = table_create(columns, 5);
	int copies = r->copies;
	bool recorded = false;

	fprintf(out, "\n%s / %s\n", r->run[p].policy->name, r->run[base].policy->name);
	for (int m = 0; m < MEASURES; m++) {
		struct summary s = summarise(r, base, p, measures[m].at);
		table_cell(t, "%s", measures[m].label);
		table_cell(t, "%.3f", s.recorded);
		table_cell(t, "%.3f", s.mean);
		table_cell(t, "%.3f", s.worst);
		table_cell(t, "%d of %d", s.better, copies);
	}
	int all = better_in_all(r, base, p, &recorded);
	table_cell(t, "better on all four");
	table_cell(t, recorded ? "yes" : "no");
	table_cell(t, "%s", "");
	table_cell(t, "%s", "");
	table_cell(t, "%d of %d", all, copies);
	table_print(t, out, 0);
	table_destroy(t);
}

void shaken_print(const struct runs *r, int base, uint64_t seed, FILE *out)
{
	int copies = r->copies;

	fprintf(out, "\nShaken: %d cop%s with every submission moved by up to %d s (seed %llu). Below 1 is better.\n",
		copies, copies == 1 ? "y" : "ies", SHAKE_SECONDS, (unsigned long long)seed);
	for (int p = 0; p < r->policies; p++)
		if (p != base)
			policy_print(r, base, p, out);
}

static void policy_json(struct json *j, const struct runs *r, int base, int p)
{
	bool recorded = false;
	int all = better_in_all(r, base, p, &recorded);

	json_open_object(j, NULL);
	json_text(j, "policy", r->run[p].policy->name);
	for (int m = 0; m < MEASURES; m++) {
		struct summary s = summarise(r, base, p, measures[m].at);
		json_open_object(j, measures[m].key);
		json_double(j, "recorded", s.recorded);
		json_double(j, "mean", s.mean);
		json_double(j, "worst", s.worst);
		json_int(j, "better", s.better);
		json_close_object(j);
	}
	json_open_array(j, "copies");
	for (int k = 1; k <= r->copies; k++) {
		json_open_object(j, NULL);
		for (int m = 0; m < MEASURES; m++)
			json_double(j, measures[m].key, ratio(r, base, p, k, measures[m].at));
		json_close_object(j);
	}
	json_close_array(j);
	json_bool(j, "all_four_recorded", recorded);
	json_int(j, "all_four_copies", all);
	json_close_object(j);
}

void shaken_json(struct json *j, const struct runs *r, int base, uint64_t seed)
{
	json_open_object(j, "shake");
	json_int(j, "copies", r->copies);
	json_int(j, "range", SHAKE_SECONDS);
	json_int(j, "seed", (int64_t)seed);
	json_text(j, "base", r->run[base].policy->name);
	json_open_array(j, "ratios");
	for (int p = 0; p < r->policies; p++)
		if (p != base)
			policy_json(j, r, base, p);
	json_close_array(j);
	json_close_object(j);
}
