/*
 * simulate_report.c - reports the results of a simulation: tables, JSON, files, and what was left
 * out.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "cmd/sim/shaken.h"
#include "cmd/sim/simulate.h"
#include "sim/chart.h"

#define NOTES_SHOWN 3
#define SIDE_BY_SIDE 4 /* at most this many policies side by side; more would not fit a terminal */

static const struct {
	const char *key, *what;
} drops[DROP_COUNT] = {
	[DROP_SYNTAX] = {"syntax", "that are not jobs"},
	[DROP_PROCS] = {"procs", "without processors, or with more than the machine has"},
	[DROP_RUNTIME] = {"runtime", "without a run time"},
	[DROP_ESTIMATE] = {"estimate", "without an estimate"},
	[DROP_SUBMIT] = {"submit", "without a time of submission"},
	[DROP_NOT_RUN] = {"not_run", "of jobs that never ran"},
};

/* Formats "12,345". */
static const char *count_text(int64_t n, char buf[32])
{
	char digits[32];
	int len = snprintf(digits, sizeof digits, "%lld", (long long)n), k = 0;

	for (int i = 0; i < len; i++) {
		if (i && digits[i - 1] != '-' && (len - i) % 3 == 0)
			buf[k++] = ',';
		buf[k++] = digits[i];
	}
	buf[k] = '\0';
	return buf;
}

void simulation_tell_dropped(const struct simulation *s)
{
	const struct workload *w = s->workload;
	char count[32];
	int64_t sum = 0;

	for (int i = 0; i < DROP_COUNT; i++)
		sum += w->dropped[i];
	if (sum > 0) {
		fprintf(stderr, "shunt: %s: %s %s%s left out", w->name, count_text(sum, count),
			w->unit ? w->unit : "line", sum == 1 ? "" : "s");
		const char *before = ": ";
		for (int i = 0; i < DROP_COUNT; i++) {
			if (w->dropped[i] == 0)
				continue;
			fprintf(stderr, "%s%s %s", before, count_text(w->dropped[i], count), drops[i].what);
			before = "; ";
		}
		fputc('\n', stderr);
	}
	for (size_t i = 0; i < w->notes.n && i < NOTES_SHOWN; i++)
		fprintf(stderr, "shunt: %s: %s\n", w->name, w->notes.v[i]);
	if (sum > NOTES_SHOWN)
		fprintf(stderr, "shunt: %s: ... and so on\n", w->name);
}

/* Prints "line 4: job 4: why", or "job 4.pine: why" of a history. */
static void print_reason(const struct workload *w, const struct refused_for *x, FILE *out)
{
	if (x->line && w->names.n) {
		fprintf(out, "job %s: %s\n", w->names.v[x->line - 1], x->why);
		return;
	}
	if (x->line)
		fprintf(out, "line %u: ", x->line);
	fprintf(out, "job %lld: %s\n", (long long)x->first, x->why);
}

/* Reports the jobs that the site's rules reject, one line per reason. */
static void tell_unruled(const struct simulation *s, const struct run *run)
{
	const struct refusals *r = &run->unruled;
	int64_t rest = r->jobs;
	char count[32];

	for (int i = 0; i < r->n; i++) {
		rest -= r->reason[i].jobs;
		fprintf(stderr, "shunt: %s: %s job%s refused; the first: ", s->workload->name,
			count_text(r->reason[i].jobs, count), r->reason[i].jobs == 1 ? "" : "s");
		print_reason(s->workload, &r->reason[i], stderr);
	}
	if (rest)
		fprintf(stderr, "shunt: %s: %s more refused, for other reasons\n", s->workload->name,
			count_text(rest, count));
}

int simulation_tell_refused(const struct simulation *s, struct err *err)
{
	int64_t unfit = 0, unruled = 0;
	char count[32];

	for (int i = 0; i < s->runs.policies; i++) {
		const struct run *run = &s->runs.run[i];
		/* its parts never share a node, so more of them may not fit */
		bool alone = run->policy->scatter;
		if (run->unruled.jobs != unruled)
			tell_unruled(s, run);
		unruled = run->unruled.jobs;
		if (!run->unfit.jobs || run->unfit.jobs == unfit)
			continue;
		unfit = run->unfit.jobs;
		fprintf(stderr, "shunt: %s: %s%s%s%s job%s left out that %s can't hold; the first: ", s->workload->name,
			alone ? "policy " : "", alone ? run->policy->name : "", alone ? ": " : "",
			count_text(unfit, count), unfit == 1 ? "" : "s", s->machine_name);
		print_reason(s->workload, &run->unfit.reason[0], stderr);
	}
	for (int i = 0; i < s->runs.n; i++)
		if (s->runs.run[i].stranded)
			return err_set(
				err, -EFAULT, "policy %s left %s jobs waiting for ever: %s",
				s->runs.run[i].policy->name, count_text(s->runs.run[i].stranded, count),
				s->runs.run[i].stranded <= s->runs.run[i].unsure
					? "they have too many different parts to search for all the ways to place them"
					: "a fault of the scheduler, please report it");
	return 0;
}

/* Prints one row per policy, for more policies than fit side by side. */
static void print_rows(const struct simulation *s, FILE *out)
{
	static const char *const columns[] = {"policy", ">turnaround", ">b. slowdown", ">AWF", ">max wait", ">use"};
	static const size_t at[] = {
		offsetof(struct metrics, turnaround.mean),
		offsetof(struct metrics, bslow.mean),
		offsetof(struct metrics, awf),
		offsetof(struct metrics, wait.max),
	};
	struct table *t = table_create(columns, 6);

	for (int i = 0; i < s->npolicies; i++) {
		const struct run *run = &s->runs.run[i];
		table_cell(t, "%s", s->policy[i]->name);
		for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
			double least = 0, v = run_measure(run, at[k]);
			for (int o = 0; o < s->npolicies; o++) {
				double x = run_measure(&s->runs.run[o], at[k]);
				least = o == 0 || x < least ? x : least;
			}
			table_cell(t, "%.*f%s", v < 1000 ? 2 : 0, v, v <= least ? "*" : " ");
		}
		table_cell(t, "%.1f%%", 100 * run->metrics.utilisation);
	}
	table_print(t, out, 0);
	table_destroy(t);
	fprintf(out,
		"\n* the best. Means over jobs, in seconds; AWF: turnaround weighted by area.\n"
		"Up to %d policies stand side by side with all their numbers; --json has all.\n",
		SIDE_BY_SIDE);
}

static void print_columns(const struct simulation *s, FILE *out)
{
	const char **names = mem_alloc((size_t)s->npolicies * sizeof *names);
	struct metrics *m = mem_alloc((size_t)s->npolicies * sizeof *m);

	for (int i = 0; i < s->npolicies; i++) {
		names[i] = s->policy[i]->name;
		m[i] = s->runs.run[i].metrics;
	}
	metrics_print(names, m, s->npolicies, out);
	fprintf(out, "\n%sAt best: no schedule can be better than that.\n",
		s->npolicies > 1 ? "* the best of its row. " : "");
	free(m);
	free(names);
}

static void print_push(const struct run *run, FILE *out)
{
	char a[32], b[32];

	if (run->pushes)
		fprintf(out, "%s: planned parts of jobs pushed: %s; jobs that started thanks to it: %s\n",
			run->policy->name, count_text((int64_t)run->pushes, a),
			count_text((int64_t)run->stats.rescued, b));
	if (run->stats.migrations)
		fprintf(out, "%s: running jobs moved: %s\n", run->policy->name,
			count_text((int64_t)run->stats.migrations, a));
}

static void print_near(const struct run *run, FILE *out)
{
	fprintf(out,
		"%s: switches of a job of several nodes: %.2f, without the topology %.2f; mean wait %.0f s, without it %.0f s\n",
		run->policy->name, run->near.switches, run->apart.switches, run->near.wait, run->apart.wait);
}

static void json_near(struct json *j, const char *name, const struct nearness *x)
{
	json_open_object(j, name);
	json_double(j, "switches", x->switches);
	json_double(j, "wait", x->wait);
	json_close_object(j);
}

void simulation_print(const struct simulation *s, FILE *out)
{
	char ran[32], jobs[32], procs[32];
	int64_t refused = s->runs.run[0].refused;

	count_text((int64_t)s->workload->jobs.n - refused, ran);
	count_text((int64_t)s->workload->jobs.n, jobs);
	fprintf(out, "%s: %s%s%s job%s on %s (%s processor%s)\n\n", s->workload->name, refused ? ran : "",
		refused ? " of " : "", jobs, s->workload->jobs.n == 1 ? "" : "s", s->machine_name,
		count_text(s->procs, procs), s->procs == 1 ? "" : "s");
	if (s->npolicies > SIDE_BY_SIDE)
		print_rows(s, out);
	else
		print_columns(s, out);
	for (int i = 0; i < s->npolicies; i++)
		print_push(&s->runs.run[i], out);
	for (int i = 0; i < s->npolicies && s->a->topology; i++)
		print_near(&s->runs.run[i], out);
	if (s->a->shake > 0)
		shaken_print(&s->runs, shaken_base(&s->runs), (uint64_t)s->a->seed, out);
}

static void refusals_json(struct json *j, const struct refusals *r)
{
	for (int i = 0; i < r->n; i++) {
		json_open_object(j, NULL);
		json_text(j, "reason", r->reason[i].why);
		json_int(j, "jobs", r->reason[i].jobs);
		json_int(j, "first", r->reason[i].first);
		json_close_object(j);
	}
}

void simulation_json(const struct simulation *s, FILE *out)
{
	struct strbuf text = {0};
	struct json j;

	json_init(&j, &text, true);
	json_open_object(&j, NULL);
	json_text(&j, "workload", s->workload->name);
	json_int(&j, "jobs", (int64_t)s->workload->jobs.n);
	json_text(&j, "machine", s->machine_name);
	json_int(&j, "procs", s->procs);
	json_open_object(&j, "dropped");
	for (int i = 0; i < DROP_COUNT; i++)
		json_int(&j, drops[i].key, s->workload->dropped[i]);
	json_close_object(&j);
	if (s->a->over_time)
		simulation_times_json(s, &j);
	json_open_array(&j, "runs");
	for (int i = 0; i < s->npolicies; i++) {
		const struct run *run = &s->runs.run[i];
		json_open_object(&j, NULL);
		json_text(&j, "policy", run->policy->name);
		json_int(&j, "refused", run->refused);
		json_open_array(&j, "refusals");
		refusals_json(&j, &run->unfit);
		refusals_json(&j, &run->unruled);
		json_close_array(&j);
		json_int(&j, "pushes", (int64_t)run->pushes);
		if (s->a->topology) {
			json_near(&j, "topology", &run->near);
			json_near(&j, "without_topology", &run->apart);
		}
		json_int(&j, "rescued", (int64_t)run->stats.rescued);
		json_int(&j, "migrations", (int64_t)run->stats.migrations);
		metrics_json(&j, &run->metrics);
		if (s->a->over_time)
			simulation_run_json(s, run, &j);
		json_close_object(&j);
	}
	json_close_array(&j);
	if (s->a->shake > 0)
		shaken_json(&j, &s->runs, shaken_base(&s->runs), (uint64_t)s->a->seed);
	json_close_object(&j);
	fprintf(out, "%s\n", strbuf_text(&text));
	strbuf_fini(&text);
}

int file_write(const char *path, void (*write)(const void *what, FILE *out), const void *what, struct err *err)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	write(what, f);
	if (fclose(f) != 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

static void starts_write(const void *run, FILE *out)
{
	const struct run *r = run;

	outcomes_csv(r->outcome, r->n, out);
}

int simulation_starts(const struct simulation *s, struct err *err)
{
	const char *given = s->a->starts;
	size_t n = strlen(given);
	int rc = 0;

	if (s->npolicies == 1)
		return file_write(given, starts_write, &s->runs.run[0], err);
	if (n > 4 && strcmp(given + n - 4, ".csv") == 0)
		n -= 4;
	for (int i = 0; i < s->npolicies && rc == 0; i++) {
		struct strbuf path = {0};
		strbuf_printf(&path, "%.*s.%s.csv", (int)n, given, s->policy[i]->name);
		rc = file_write(path.text, starts_write, &s->runs.run[i], err);
		strbuf_fini(&path);
	}
	return rc;
}

int simulation_chart(const struct simulation *s, struct err *err)
{
	struct chart_run *runs = mem_zalloc((size_t)s->npolicies * sizeof *runs);
	char title[200], jobs[32];

	for (int i = 0; i < s->npolicies; i++) {
		const struct run *run = &s->runs.run[i];
		runs[i] = (struct chart_run){run->policy->name, run->outcome, run->n, run->procs};
	}
	snprintf(title, sizeof title, "%.80s: %s job%s on %.60s", s->workload->name,
		 count_text((int64_t)s->workload->jobs.n, jobs), s->workload->jobs.n == 1 ? "" : "s", s->machine_name);
	int rc = chart_run_draw(s->a->chart, title, runs, s->npolicies, err);
	free(runs);
	if (rc == 0)
		fprintf(s->a->json ? stderr : stdout, "Picture: %s\n", s->a->chart);
	return rc;
}
