/*
 * experiment_cover.c - node allocation by the smallest cover compared with min_resource and
 * first_available, as the source proposes, over several spreads of node speed and several arrival
 * rates, and for jobs that wait for the night, start together and may use different nodes
 * (docs/simulator.md).
 *
 * The same workloads run under easy with each method. A job takes longer on a slower node.
 * Differences are taken within the same workload, so their intervals are narrower than those of the
 * means.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/lines.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "base/table.h"
#include "lab/experiment_internal.h"
#include "sim/pool.h"
#include "sim/sim.h"

#define NODES 40
#define CPUS 8
#define JOBS 1000
#define WIDTH 120
#define FEATURES 12	/* kinds of nodes at night; a node may be of several */
#define HAS 0.3		/* probability that a node has a feature, as in the source's figure */
#define CPUS_MEAN 3.75	/* mean CPUs of a job, which asks for 1, 2, 4 or 8 */
#define DAY (24 * 3600) /* seconds */

enum { METHODS = 3, SPREADS = 4, RATES = 3 };

static const char *const methods[METHODS] = {"cover", "min_resource", "first_available"};
static const struct {
	const char *name;
	double low, high; /* speeds are uniform between these */
	bool nights;	  /* jobs need a feature and wait for the night */
} spreads[SPREADS] = {{"equal", 1, 1, false},
		      {"0.75 to 1.25", 0.75, 1.25, false},
		      {"0.5 to 1.5", 0.5, 1.5, false},
		      {"equal, at night", 1, 1, true}};
/* arriving work as a share of the machine; CPUs of a night's jobs as a share of all */
static const double loads[RATES] = {0.5, 0.8, 1.1};

struct cover_cell {
	double wait, turnaround, nodes; /* nodes: mean number of busy nodes while any job runs */
};

struct covers {
	int seeds, jobs;
	const struct cover_cell *cells; /* [spread][load][method][seed] */
};

static int cell_index(const struct covers *m, int spread, int load, int method, int seed)
{
	return ((spread * RATES + load) * METHODS + method) * m->seeds + seed;
}

/* Writes lines like "node n1 cpus=8 speed=1.2". A seed has the same speeds and features for all
 * methods and rates. */
static char *machine_text(int spread, int seed)
{
	struct strbuf out = {0};
	struct rng r;

	rng_seed(&r, (uint64_t)seed + 1000);
	for (int n = 0; n < NODES; n++) {
		double speed = spreads[spread].low + (spreads[spread].high - spreads[spread].low) * rng_unit(&r);
		strbuf_printf(&out, "%snode n%d cpus=%d speed=%.3f features=any", n ? "\n" : "", n + 1, CPUS, speed);
		for (int f = 0; f < FEATURES; f++)
			if (spreads[spread].nights && rng_unit(&r) < HAS)
				strbuf_printf(&out, ",t%d", f + 1);
	}
	return out.text;
}

/* Generates jobs of one to three hours that are submitted by day and may all start at the instant
 * at which the night begins. */
static struct workload *night_work(double load, uint64_t seed, int jobs, struct err *err)
{
	struct workload *w = workload_create("night");
	int each = (int)lround(load * NODES * CPUS / CPUS_MEAN);
	struct strbuf text = {0};
	struct lines *in;
	struct rng r;

	rng_seed(&r, seed);
	strbuf_printf(&text, "#shunt-workload 1\n");
	for (int i = 0; i < jobs; i++) {
		int night = (i / each + 1) * DAY, cpus = 1 << rng_below(&r, 4);
		int feature = (int)rng_range(&r, 1, FEATURES), walltime = (int)rng_range(&r, 3600, 3 * 3600);
		strbuf_printf(&text, "at=%d start=%d req=nodes=1:ppn=%d:t%d walltime=%d\n", night - 1, night, cpus,
			      feature, walltime);
	}
	in = lines_over(strbuf_text(&text), text.n);
	if (workload_read_lines(in, RULES_SITE, 0, w, err) < 0) {
		workload_destroy(w);
		w = NULL;
	}
	lines_close(in);
	strbuf_fini(&text);
	return w;
}

static struct workload *work_generate(int spread, int load, int seed, int jobs, struct err *err)
{
	if (spreads[spread].nights)
		return night_work(loads[load], (uint64_t)seed + 1, jobs, err);
	return generate_oscar(&(struct oscar_model){
		.model = 'A',
		.mix = MIX_POWERS,
		.jobs = jobs,
		.mean_gap = generate_work(MIX_POWERS) / (NODES * CPUS) / loads[load],
		.seed = (uint64_t)seed + 1,
	});
}

/* Integrates busy nodes over time. A node is busy while any job runs on it. */
struct usage {
	int jobs[NODES + 1];
	int busy;
	int64_t since, seconds;
	double sum;
	int32_t *node; /* by job; -1: not running */
	uint32_t last; /* job */
};

static void usage_pass(struct usage *u, int64_t now)
{
	if (u->busy) {
		u->sum += (double)u->busy * (double)(now - u->since);
		u->seconds += now - u->since;
	}
	u->since = now;
}

static void on_event(void *context, const struct event *e)
{
	struct usage *u = context;

	if (e->job > u->last)
		return;
	if (e->type == EVENT_START && e->nnodes) {
		usage_pass(u, e->time);
		u->node[e->job] = e->nodes[0];
		u->busy += u->jobs[e->nodes[0]]++ == 0;
	} else if (e->type == EVENT_FINISH && u->node[e->job] >= 0) {
		usage_pass(u, e->time);
		u->busy -= --u->jobs[u->node[e->job]] == 0;
		u->node[e->job] = -1;
	}
}

static void cell_place(const struct covers *m, int i, int *spread, int *load, int *method, int *seed)
{
	*seed = i % m->seeds;
	*method = i / m->seeds % METHODS;
	*load = i / m->seeds / METHODS % RATES;
	*spread = i / m->seeds / METHODS / RATES;
}

static int cell_work(void *context, int task, void *ret, struct err *err)
{
	const struct covers *all = context;
	int spread, load, method, seed;
	struct cover_cell *cell = ret;
	struct usage u = {0};
	struct sim_options o;
	struct sim_result r;
	struct metrics m;
	struct workload *w;
	char *machine;

	cell_place(all, task, &spread, &load, &method, &seed);
	w = work_generate(spread, load, seed, all->jobs, err);
	if (!w)
		return -EINVAL;
	w->speeds = true;
	for (size_t i = 0; i < w->jobs.n; i++) /* make walltimes long enough for the slowest node */
		w->jobs.v[i].walltime = (int64_t)((double)w->jobs.v[i].walltime / spreads[spread].low) + 1;
	machine = machine_text(spread, seed);
	u.last = (uint32_t)all->jobs;
	u.node = mem_alloc((u.last + 1) * sizeof *u.node);
	for (uint32_t i = 0; i <= u.last; i++)
		u.node[i] = -1;
	sim_options_init(&o);
	o.machine = machine;
	o.allocation = methods[method];
	o.listener = on_event;
	o.listener_context = &u;
	int rc = sim_run(w, policy_find("easy"), &o, &r, err);
	if (rc == 0) {
		metrics_compute(&m, r.outcome, r.n, r.procs);
		*cell = (struct cover_cell){m.wait.mean, m.turnaround.mean, u.seconds ? u.sum / (double)u.seconds : 0};
		sim_result_fini(&r);
	}
	free(u.node);
	free(machine);
	workload_destroy(w);
	return rc;
}

static void cell_name(void *context, int task, char *buf, size_t n)
{
	int spread, load, method, seed;

	cell_place(context, task, &spread, &load, &method, &seed);
	snprintf(buf, n, "speeds %s, load %g, %s, seed %d", spreads[spread].name, loads[load], methods[method],
		 seed + 1);
}

/* ---- report ---- */

enum number { WAIT, TURNAROUND, BUSY, NUMBERS };

static double cover_number(const struct cover_cell *c, enum number n)
{
	return n == WAIT ? c->wait : n == TURNAROUND ? c->turnaround : c->nodes;
}

/* Returns the mean of a number over the seeds, minus that of method `less` (-1: no difference is
 * taken), and half of its 95% interval. */
static double mean_of(const struct covers *m, int spread, int load, int method, int less, enum number n,
		      double *ret_half)
{
	double sum = 0, squares = 0;

	for (int s = 0; s < m->seeds; s++) {
		double v = cover_number(&m->cells[cell_index(m, spread, load, method, s)], n);
		if (less >= 0)
			v -= cover_number(&m->cells[cell_index(m, spread, load, less, s)], n);
		sum += v;
		squares += v * v;
	}
	double mean = sum / m->seeds, var = (squares - sum * mean) / (m->seeds - 1);
	*ret_half = student(m->seeds - 1) * sqrt((var > 0 ? var : 0) / m->seeds);
	return mean;
}

/* Prints a difference and its interval; leaves the cells empty for cover itself. */
static void more_cells(struct table *t, bool any, int decimals, double more, double half)
{
	if (!any) {
		table_cell(t, "%s", "");
		table_cell(t, "%s", "");
		return;
	}
	table_cell(t, "%+.*f", decimals, more);
	table_cell(t, "%.*f", decimals, half);
}

static void covers_print(const struct covers *m, FILE *out)
{
	static const char *const columns[] = {"speeds",		">load", "method",	">wait, s",    ">turnaround, s",
					      ">than cover, s", ">±",	 ">busy nodes", ">than cover", ">±"};
	struct table *t = table_create(columns, 10);

	fprintf(out, "%d jobs of 1, 2, 4 or 8 CPUs on %d nodes of %d CPUs, under easy, %d seeds\n\n", m->jobs, NODES,
		CPUS, m->seeds);
	for (int spread = 0; spread < SPREADS; spread++)
		for (int load = 0; load < RATES; load++) {
			table_rule(t);
			for (int k = 0; k < METHODS; k++) {
				double half, wait = mean_of(m, spread, load, k, -1, WAIT, &half),
					     around = mean_of(m, spread, load, k, -1, TURNAROUND, &half),
					     busy = mean_of(m, spread, load, k, -1, BUSY, &half), more;
				table_cell(t, "%s", k ? "" : spreads[spread].name);
				if (k)
					table_cell(t, "%s", "");
				else
					table_cell(t, "%g", loads[load]);
				table_cell(t, "%s", methods[k]);
				table_cell(t, "%.0f", wait);
				table_cell(t, "%.0f", around);
				more = mean_of(m, spread, load, k, 0, TURNAROUND, &half);
				more_cells(t, k > 0, 0, more, half);
				table_cell(t, "%.1f", busy);
				more = mean_of(m, spread, load, k, 0, BUSY, &half);
				more_cells(t, k > 0, 1, more, half);
			}
		}
	table_print(t, out, WIDTH);
	table_destroy(t);
	fprintf(out,
		"\nload: arriving work as a share of the machine; than cover: difference to cover on the same workloads; ±: half of its 95%% interval; busy nodes: while any job runs\n");
}

static void covers_json(const struct covers *m, FILE *out)
{
	static const char *const names[NUMBERS] = {"wait", "turnaround", "busy_nodes"},
				 *const halves[NUMBERS] = {"wait_half", "turnaround_half", "busy_nodes_half"},
				 *const than[NUMBERS] = {"wait_than_cover", "turnaround_than_cover",
							 "busy_nodes_than_cover"},
				 *const than_halves[NUMBERS] = {"wait_than_cover_half", "turnaround_than_cover_half",
								"busy_nodes_than_cover_half"};
	struct strbuf text = {0};
	struct json j;

	json_init(&j, &text, true);
	json_open_array(&j, NULL);
	for (int i = 0; i < SPREADS * RATES * METHODS; i++) {
		int spread = i / METHODS / RATES, load = i / METHODS % RATES, method = i % METHODS;
		json_open_object(&j, NULL);
		json_text(&j, "speeds", spreads[spread].name);
		json_double(&j, "load", loads[load]);
		json_text(&j, "method", methods[method]);
		for (int n = 0; n < NUMBERS; n++) {
			double half, v = mean_of(m, spread, load, method, -1, (enum number)n, &half);
			json_double(&j, names[n], v);
			json_double(&j, halves[n], half);
			v = mean_of(m, spread, load, method, 0, (enum number)n, &half);
			json_double(&j, than[n], v);
			json_double(&j, than_halves[n], half);
		}
		json_close_object(&j);
	}
	json_close_array(&j);
	fprintf(out, "%s\n", strbuf_text(&text));
	strbuf_fini(&text);
}

static int covers_chart(const struct covers *m, const char *dir, struct err *err)
{
	const char *group[SPREADS * RATES];
	char names[SPREADS * RATES][64];
	double value[SPREADS * RATES * METHODS], half;

	for (int i = 0; i < SPREADS * RATES; i++) {
		snprintf(names[i], sizeof names[i], "%s, load %g", spreads[i / RATES].name, loads[i % RATES]);
		group[i] = names[i];
		for (int k = 0; k < METHODS; k++)
			value[i * METHODS + k] = mean_of(m, i / RATES, i % RATES, k, -1, BUSY, &half);
	}
	return charts_draw(dir, "cover",
			   &(struct chart_bars){.title = "Nodes in use, by speeds and load",
						.ylabel = "busy nodes",
						.group = group,
						.series = methods,
						.ngroups = SPREADS * RATES,
						.nseries = METHODS,
						.value = value},
			   err);
}

int experiment_cover(const struct push_options *o, FILE *out, bool *ret_claims, struct err *err)
{
	struct covers m = {.seeds = o->seeds, .jobs = o->jobs ? o->jobs : JOBS};
	struct pool_tasks tasks = {
		.work = cell_work,
		.context = &m,
		.n = SPREADS * RATES * METHODS,
		.size = sizeof(struct cover_cell),
		.name = cell_name,
	};
	void *cells = NULL;
	int rc = cells_run(o, &tasks, &cells, err);

	if (rc == 0) {
		m.cells = cells;
		(o->json ? covers_json : covers_print)(&m, out);
		if (ret_claims)
			*ret_claims = true; /* it makes no claims */
		if (o->charts)
			rc = covers_chart(&m, o->charts, err);
	}
	pool_free(cells, tasks.n, tasks.size);
	return rc;
}
