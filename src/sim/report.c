/*
 * report.c - prints metrics as a table or JSON, and the jobs behind them as CSV.
 *
 * One table of rows defines what is shown, in which form, and which direction is better.
 */
#include <stddef.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/table.h"
#include "base/vec.h"
#include "sim/metrics.h"

enum form { FORM_SECONDS, FORM_RATIO, FORM_PERCENT, FORM_COUNT };
enum better { LESS = -1, NEITHER, MORE };

static const struct row {
	const char *key, *label;
	size_t at;
	enum form form;
	enum better better;
	size_t bound; /* offset of the bound; 0: none */
	bool rare;    /* shown only if some run has a value other than 0 */
} rows[] = {
#define AT(field) offsetof(struct metrics, field)
	{"wait_mean", "wait, mean", AT(wait.mean), FORM_SECONDS, LESS, 0, false},
	{"wait_median", "  median", AT(wait.median), FORM_SECONDS, LESS, 0, false},
	{"wait_p90", "  90th percentile", AT(wait.p90), FORM_SECONDS, LESS, 0, false},
	{"wait_p99", "  99th percentile", AT(wait.p99), FORM_SECONDS, LESS, 0, false},
	{"wait_max", "  maximum", AT(wait.max), FORM_SECONDS, LESS, 0, false},
	{"turnaround_mean", "turnaround, mean", AT(turnaround.mean), FORM_SECONDS, LESS, AT(bound.turnaround), false},
	{"turnaround_median", "  median", AT(turnaround.median), FORM_SECONDS, LESS, 0, false},
	{"turnaround_p99", "  99th percentile", AT(turnaround.p99), FORM_SECONDS, LESS, 0, false},
	{"awf", "  area-weighted", AT(awf), FORM_SECONDS, LESS, AT(bound.awf_busy), false},
	{"slowdown_mean", "slowdown, mean", AT(slowdown.mean), FORM_RATIO, LESS, 0, false},
	{"bslow_mean", "  bounded, mean", AT(bslow.mean), FORM_RATIO, LESS, 0, false},
	{"bslow_median", "  bounded, median", AT(bslow.median), FORM_RATIO, LESS, 0, false},
	{"bslow_p99", "  bounded, 99th", AT(bslow.p99), FORM_RATIO, LESS, 0, false},
	{"bslow_max", "  bounded, max", AT(bslow.max), FORM_RATIO, LESS, 0, false},
	{"ppbslow_mean", "  per processor", AT(ppbslow), FORM_RATIO, LESS, 0, false},
	{"utilisation", "utilisation", AT(utilisation), FORM_PERCENT, MORE, 0, false},
	{"loss_of_capacity", "loss of capacity", AT(loss_of_capacity), FORM_PERCENT, LESS, 0, false},
	{"makespan", "makespan", AT(makespan), FORM_SECONDS, LESS, AT(bound.makespan), false},
	{"user_wait_worst", "worst user's wait", AT(user_wait_worst), FORM_SECONDS, LESS, 0, false},
	{"user_wait_jain", "users' Jain index", AT(user_wait_jain), FORM_RATIO, MORE, 0, false},
	{"deadlines", "deadlines", AT(deadlines), FORM_COUNT, NEITHER, 0, true},
	{"deadlines_met", "  met", AT(deadlines_met), FORM_COUNT, MORE, 0, true},
	{"expired", "  never ran", AT(expired), FORM_COUNT, LESS, 0, true},
	{"guaranteed", "guarantees given", AT(guaranteed), FORM_COUNT, MORE, 0, true},
	{"guarantees_broken", "  broken", AT(guarantees_broken), FORM_COUNT, LESS, 0, true},
	{"broken_by_power", "  by emergencies", AT(broken_by_power), FORM_COUNT, LESS, 0, true},
	{"emergency", "emergency jobs", AT(emergency), FORM_COUNT, NEITHER, 0, true},
	{"emergency_met", "  deadline met", AT(emergency_met), FORM_COUNT, MORE, 0, true},
	{"preempted", "preemptions", AT(preempted), FORM_COUNT, LESS, 0, true},
	{"work_lost", "  work lost", AT(work_lost), FORM_COUNT, LESS, 0, true},
	{"wait_serial", "wait, serial jobs", AT(size[0].wait), FORM_SECONDS, LESS, 0, true},
	{"wait_small", "  to 1/32 machine", AT(size[1].wait), FORM_SECONDS, LESS, 0, true},
	{"wait_medium", "  to 1/4 machine", AT(size[2].wait), FORM_SECONDS, LESS, 0, true},
	{"wait_large", "  larger jobs", AT(size[3].wait), FORM_SECONDS, LESS, 0, true},
#undef AT
};
#define ROWS (sizeof rows / sizeof *rows)

static double value_at(const struct metrics *m, size_t at, enum form form)
{
	const char *p = (const char *)m + at;

	return form == FORM_COUNT ? (double)*(const int64_t *)p : *(const double *)p;
}

/* Formats a number like "2,388,443.8". */
static void grouped(double v, int decimals, char *buf, size_t size)
{
	char plain[64];
	size_t k = 0;

	snprintf(plain, sizeof plain, "%.*f", decimals, v);
	size_t whole = strcspn(plain, ".");
	for (size_t i = 0; plain[i] && k + 2 < size; i++) {
		if (i > (plain[0] == '-') && i < whole && (whole - i) % 3 == 0)
			buf[k++] = ',';
		buf[k++] = plain[i];
	}
	buf[k] = '\0';
}

static void value_format(double v, enum form form, char *buf, size_t size)
{
	if (form == FORM_PERCENT)
		snprintf(buf, size, "%.2f%%", 100 * v);
	else if (form == FORM_COUNT)
		grouped(v, 0, buf, size);
	else if (form == FORM_SECONDS)
		grouped(v, v < 1000 ? 1 : 0, buf, size);
	else
		grouped(v, v < 1000 ? 3 : 0, buf, size);
}

/* Returns the best value as text: values that print alike are all best. Returns NULL, so that
 * none is marked, if all are equal. */
static const char *best_of(const struct row *row, const struct metrics *m, int n, char best[64])
{
	double top = 0;
	bool differ = false;
	char text[64];

	for (int i = 0; i < n; i++) {
		double v = value_at(&m[i], row->at, row->form);
		if (i == 0 || (row->better == LESS ? v < top : v > top))
			top = v;
	}
	value_format(top, row->form, best, 64);
	for (int i = 0; i < n; i++) {
		value_format(value_at(&m[i], row->at, row->form), row->form, text, sizeof text);
		differ |= strcmp(text, best) != 0;
	}
	return differ && row->better != NEITHER ? best : NULL;
}

static bool row_shown(const struct row *row, const struct metrics *m, int n)
{
	bool any = !row->rare;

	for (int i = 0; i < n; i++)
		any |= value_at(&m[i], row->at, row->form) != 0;
	return any;
}

static void row_print(struct table *t, const struct row *row, const struct metrics *m, int n)
{
	char text[64], buf[64];
	const char *best = best_of(row, m, n, buf);

	table_cell(t, "%s", row->label);
	for (int i = 0; i < n; i++) {
		value_format(value_at(&m[i], row->at, row->form), row->form, text, sizeof text);
		table_cell(t, "%s%s", text, n == 1 ? "" : best && strcmp(text, best) == 0 ? "*" : " ");
	}
	if (row->bound)
		value_format(value_at(m, row->bound, row->form), row->form, text, sizeof text);
	table_cell(t, "%s", row->bound ? text : "");
}

void metrics_print(const char *const *names, const struct metrics *m, int n, FILE *out)
{
	VEC(char *) columns = {0};
	struct strbuf name = {0};

	vec_push(&columns, mem_strdup("times in seconds"));
	for (int i = 0; i < n; i++) {
		strbuf_clear(&name);
		strbuf_printf(&name, ">%s%s", names[i], n == 1 ? "" : " ");
		vec_push(&columns, mem_strdup(name.text));
	}
	vec_push(&columns, mem_strdup(">at best"));
	strbuf_fini(&name);

	struct table *t = table_create((const char *const *)columns.v, (int)columns.n);
	for (size_t i = 0; i < ROWS; i++)
		if (row_shown(&rows[i], m, n))
			row_print(t, &rows[i], m, n);
	table_print(t, out, 0);
	table_destroy(t);
	for (size_t i = 0; i < columns.n; i++)
		free(columns.v[i]);
	vec_free(&columns);
}

void metrics_json(struct json *j, const struct metrics *m)
{
	json_int(j, "jobs", m->jobs);
	json_int(j, "procs", m->procs);
	for (size_t i = 0; i < ROWS; i++) {
		double v = value_at(m, rows[i].at, rows[i].form);
		if (rows[i].form == FORM_COUNT)
			json_int(j, rows[i].key, (int64_t)v);
		else
			json_double(j, rows[i].key, v);
	}
	json_open_object(j, "bounds");
	json_double(j, "turnaround_trivial", m->bound.turnaround_trivial);
	json_double(j, "turnaround_srpt", m->bound.turnaround_srpt);
	json_double(j, "awf_busy", m->bound.awf_busy);
	json_double(j, "makespan", m->bound.makespan);
	json_close_object(j);
}

void outcomes_csv(const struct simulated *o, int64_t n, FILE *out)
{
	fprintf(out, "job_id,submit,procs,runtime,estimate,start,end\n");
	for (int64_t i = 0; i < n; i++)
		fprintf(out, "%lld,%lld,%lld,%lld,%lld,%lld,%lld\n", (long long)o[i].id, (long long)o[i].submit,
			(long long)o[i].procs, (long long)o[i].runtime, (long long)o[i].estimate, (long long)o[i].start,
			(long long)o[i].end);
}
