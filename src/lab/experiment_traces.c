/*
 * experiment_traces.c - published values (docs/simulator.md): mean bounded slowdown of known
 * policies on whole traces, by the rules of the literature. Agreement with them validates the
 * simulator; our own policy is the last row.
 *
 * The values differ much in how robust they are. So each run is repeated with every submission
 * moved by at most a second, and the range of the results is shown. On CEA-Curie the range spans a
 * factor of several, because a few huge jobs decide.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "lab/experiment_internal.h"
#include "sim/pool.h"
#include "sim/sim.h"

#define WIDTH 100

enum { TRACES = 4, POLICIES = 6, COPIES = 4 }; /* copy 0 is the unchanged trace */

#define SHAKE 1 /* largest shift of a submission, s */

/* Published values; 0: not published. */
static const struct published {
	const char *file; /* prefix of the file name */
	int64_t jobs;	  /* number of jobs left after the filter */
	double bslow[POLICIES];
	double turnaround; /* mean under easy, s */
	int64_t procs;	   /* processors of the simulated machine; 0: as in the trace's header */
} published[TRACES] = {
	{"CTC-SP2", 77199, {49.57, 30.04, 26.53, 37.17, 17.57}, 25526.8, 0},
	{"SDSC-SP2", 54006, {87.87, 84.89, 65.06, 70.48, 56.84}, 27850.9, 0},
	{"SDSC-BLUE", 232542, {36.52, 19.83, 16.83, 30.62, 13.18}, 0, 0},
	{"CEA-Curie", 295540, {202.13, 0, 21.33, 69.93, 12.08}, 0, 80640},
};

static const char *const policy_names[POLICIES] = {
	"easy", "easy-sjbf", "easy++", "easy-clairvoyant", "easy-sjbf-clairvoyant", "shunt",
};

/* Results of one policy on one trace. */
struct trace_cell {
	double bslow, turnaround, wait_max, seconds;
	int64_t jobs;
};

struct traces {
	struct workload *w[TRACES]; /* NULL: the trace is missing */
	char machine[TRACES][64];
	const struct trace_cell *cells; /* trace x policy x copy */
};

static int cell_work(void *context, int task, void *ret, struct err *err)
{
	const struct traces *t = context;
	int copy = task % COPIES, policy = task / COPIES % POLICIES, trace = task / COPIES / POLICIES;
	struct trace_cell *cell = ret;
	struct sim_options o;
	struct sim_result r;
	struct metrics m;

	if (!t->w[trace])
		return 0;
	sim_options_init(&o);
	o.machine = t->machine[trace];

	struct workload w = workload_borrow(t->w[trace]);
	if (copy > 0)
		workload_shake(&w, SHAKE, (uint64_t)copy);
	int rc = sim_run(&w, policy_find(policy_names[policy]), &o, &r, err);
	vec_free(&w.jobs);
	if (rc < 0)
		return rc;
	metrics_compute(&m, r.outcome, r.n, r.procs);
	*cell = (struct trace_cell){
		.bslow = m.bslow.mean,
		.turnaround = m.turnaround.mean,
		.wait_max = m.wait.max,
		.seconds = r.seconds,
		.jobs = m.jobs,
	};
	sim_result_fini(&r);
	return 0;
}

static void cell_name(void *context, int task, char *buf, size_t size)
{
	int copy = task % COPIES, policy = task / COPIES % POLICIES, trace = task / COPIES / POLICIES;

	snprintf(buf, size, "%s, policy %s, copy %d", published[trace].file, policy_names[policy], copy);
}

static int traces_read(struct traces *t, const char *dir, struct err *err)
{
	char path[PATH_MAX];
	DIR *d = opendir(dir);
	int rc = 0, found = 0;

	if (!d)
		return err_set(err, -errno, "%s: %s (give the directory of the traces)", dir, strerror(errno));
	closedir(d);
	for (int i = 0; i < TRACES && rc == 0; i++) {
		if (!trace_find(dir, published[i].file, path, sizeof path))
			continue;
		rc = workload_read(path, RULES_SC15, 0, &t->w[i], err);
		if (rc == 0)
			snprintf(t->machine[i], sizeof t->machine[i], "flat:%lld",
				 (long long)(published[i].procs ? published[i].procs : t->w[i]->procs));
		found++;
	}
	if (rc == 0 && !found)
		rc = err_set(err, -ENOENT, "%s: none of the traces CTC-SP2, SDSC-SP2, SDSC-BLUE, CEA-Curie is there",
			     dir);
	return rc;
}

static void traces_fini(struct traces *t)
{
	for (int i = 0; i < TRACES; i++)
		workload_destroy(t->w[i]);
}

static const struct trace_cell *cell_of(const struct traces *t, int trace, int policy)
{
	return &t->cells[(trace * POLICIES + policy) * COPIES];
}

/* Returns the smallest and the largest value of all copies. */
static void cell_range(const struct trace_cell *c, double *ret_least, double *ret_most)
{
	*ret_least = *ret_most = c->bslow;
	for (int i = 1; i < COPIES; i++) {
		*ret_least = fmin(*ret_least, c[i].bslow);
		*ret_most = fmax(*ret_most, c[i].bslow);
	}
}

static double deviation(double ours, double theirs)
{
	return theirs > 0 ? 100 * (ours / theirs - 1) : NAN;
}

/* Prints the first cells of a row; the caller adds the range and the speed. */
static void row_begin(struct table *t, const char *trace, const char *what, double theirs, double ours, int decimals)
{
	table_cell(t, "%s", trace);
	table_cell(t, "%s", what);
	if (theirs > 0)
		table_cell(t, "%.*f", decimals, theirs);
	else
		table_cell(t, "-");
	table_cell(t, "%.*f", decimals, ours);
	if (theirs > 0)
		table_cell(t, "%+.2f%%", deviation(ours, theirs));
	else
		table_cell(t, "-");
}

static void row_print(struct table *t, const char *trace, const char *what, double theirs, double ours, int decimals)
{
	row_begin(t, trace, what, theirs, ours, decimals);
	table_cell(t, "%s", "");
	table_cell(t, "%s", "");
}

static void policy_print(struct table *t, const char *trace, const char *policy, double theirs,
			 const struct trace_cell *c)
{
	double least, most;

	cell_range(c, &least, &most);
	row_begin(t, trace, policy, theirs, c->bslow, 2);
	table_cell(t, "%.1f-%.1f", least, most);
	table_cell(t, "%.0f", (double)c->jobs / c->seconds / 1000);
}

static void missing_print(const struct traces *t, const char *dir, FILE *out)
{
	for (int i = 0; i < TRACES; i++)
		if (!t->w[i])
			fprintf(out, "%s is not in %s: left out\n", published[i].file, dir);
}

static void traces_print(const struct traces *t, const char *dir, FILE *out)
{
	static const char *const columns[] = {
		"trace", "mean bounded slowdown", ">published", ">ours", ">deviation", ">shaken by 1 s", ">1000 jobs/s",
	};
	struct table *table = table_create(columns, 7);

	fprintf(out, "Whole traces, rules sc15, one pool of processors\n\n");
	for (int i = 0; i < TRACES; i++) {
		const struct published *p = &published[i];
		if (!t->w[i])
			continue;
		table_rule(table);
		row_print(table, p->file, "jobs after the filter", (double)p->jobs, (double)cell_of(t, i, 0)->jobs, 0);
		for (int k = 0; k < POLICIES; k++)
			policy_print(table, p->file, policy_names[k], p->bslow[k], cell_of(t, i, k));
		row_print(table, p->file, "mean turnaround of easy, s", p->turnaround, cell_of(t, i, 0)->turnaround, 1);
	}
	table_print(table, out, WIDTH);
	table_destroy(table);
	missing_print(t, dir, out);
}

static void json_published(struct json *j, const char *key, double value)
{
	json_double(j, key, value > 0 ? value : NAN); /* NAN is written as null */
}

static void traces_json(const struct traces *t, FILE *out)
{
	struct strbuf text = {0};
	struct json j;

	json_init(&j, &text, true);
	json_open_array(&j, NULL);
	for (int i = 0; i < TRACES; i++) {
		const struct published *p = &published[i];
		json_open_object(&j, NULL);
		json_text(&j, "trace", p->file);
		json_bool(&j, "present", t->w[i] != NULL);
		json_int(&j, "published_jobs", p->jobs);
		json_published(&j, "published_turnaround_easy", p->turnaround);
		json_open_array(&j, "policies");
		for (int k = 0; k < POLICIES && t->w[i]; k++) {
			const struct trace_cell *c = cell_of(t, i, k);
			double least, most;
			json_open_object(&j, NULL);
			json_text(&j, "policy", policy_names[k]);
			json_int(&j, "jobs", c->jobs);
			json_published(&j, "published_bslow", p->bslow[k]);
			json_double(&j, "bslow", c->bslow);
			cell_range(c, &least, &most);
			json_double(&j, "bslow_shaken_least", least);
			json_double(&j, "bslow_shaken_most", most);
			json_double(&j, "deviation_percent", deviation(c->bslow, p->bslow[k]));
			json_double(&j, "turnaround", c->turnaround);
			json_double(&j, "wait_max", c->wait_max);
			json_double(&j, "seconds", c->seconds);
			json_close_object(&j);
		}
		json_close_array(&j);
		json_close_object(&j);
	}
	json_close_array(&j);
	fprintf(out, "%s\n", strbuf_text(&text));
	strbuf_fini(&text);
}

/* Draws our values next to the published ones, for the policies that have them. */
static int trace_chart(const struct traces *t, int trace, const char *dir, struct err *err)
{
	static const char *const series[] = {"published", "ours"};
	const char *group[POLICIES];
	double value[POLICIES * 2];
	char name[64], title[64];
	int n = 0;

	for (int k = 0; k < POLICIES; k++) {
		if (published[trace].bslow[k] <= 0)
			continue;
		group[n] = policy_names[k];
		value[2 * n] = published[trace].bslow[k];
		value[2 * n + 1] = cell_of(t, trace, k)->bslow;
		n++;
	}
	struct chart_bars b = {
		.title = title,
		.ylabel = "mean bounded slowdown",
		.group = group,
		.series = series,
		.ngroups = n,
		.nseries = 2,
		.value = value,
	};
	snprintf(title, sizeof title, "%s, whole trace", published[trace].file);
	snprintf(name, sizeof name, "trace-%s", published[trace].file);
	return charts_draw(dir, name, &b, err);
}

int experiment_traces(const struct traces_options *o, FILE *out, struct err *err)
{
	struct traces t = {0};
	struct pool_tasks tasks = {
		.work = cell_work,
		.context = &t,
		.n = TRACES * POLICIES * COPIES,
		.size = sizeof(struct trace_cell),
		.name = cell_name,
		.workers = o->workers,
		.what = o->progress ? "simulating" : NULL,
	};
	void *cells = NULL;
	int rc = o->charts ? charts_dir(o->charts, err) : 0;

	if (rc == 0)
		rc = traces_read(&t, o->dir, err);
	if (rc == 0)
		rc = pool_run_tasks(&tasks, &cells, err);
	if (rc == 0) {
		t.cells = cells;
		if (o->json)
			traces_json(&t, out);
		else
			traces_print(&t, o->dir, out);
		for (int i = 0; i < TRACES && o->charts && rc == 0; i++)
			if (t.w[i])
				rc = trace_chart(&t, i, o->charts, err);
	}
	pool_free(cells, tasks.n, tasks.size);
	traces_fini(&t);
	return rc;
}
