/*
 * experiment_owners.c - parallel jobs on workstations that their owners use: the slowdown that
 * owners notice, and the price that parallel jobs pay (docs/simulator.md).
 *
 * There are two models, as in the source: interactive and parallel work, and the same with the
 * owners' batch work. The first ways of scheduling are the source's; the others are the policies of
 * the pool's daemon, on stations that work as the daemon makes them. All meet the same arrivals and
 * demands. The tables show
 * ratios within the same workload, averaged over the seeds, with half of their 90% interval.
 */
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/table.h"
#include "lab/experiment_internal.h"
#include "sim/pool.h"
#include "sim/stations.h"

#define JOBS 300
#define QUANTUM 0.5
#define INTERVAL 5.0
#define WIDTH 120

enum { OWNER_MODELS = 2, LOADS = 5, SOURCE_WAYS = 4, WAYS = SOURCE_WAYS + PLACE_POLICIES, SWEEP = 5 };
enum way { ALONE, FIM, FIM_OWNER_FIRST, TWO_LEVEL };

static const double shares[OWNER_MODELS][CLASSES] = {{0.2, 0, 0.8}, {0.2, 0.3, 0.5}};
static const double loads[LOADS] = {0.3, 0.5, 0.7, 0.8, 0.9};
static const struct {
	const char *name;
	enum place_policy policy;
	enum discipline discipline;
} ways[SOURCE_WAYS] = {
	{"owners alone", PLACE_FIM, DISCIPLINE_SHARED},
	{"fim", PLACE_FIM, DISCIPLINE_SHARED},
	{"fim, owner first", PLACE_FIM, DISCIPLINE_QUANTUM},
	{"two-level", PLACE_TWO_LEVEL, DISCIPLINE_QUANTUM},
};
/* intervals of load exchange, compared under fim at the highest load, in the first model */
static const double intervals[SWEEP] = {1, 5, 20, 60, 300};

struct owners {
	int seeds, jobs;
	double k1, k2;			     /* weights of the two-level cost */
	const struct stations_result *cells; /* [model][load][way][seed], then [interval][seed] */
};

/* Returns the policy of a way that the pool's daemon has. */
static enum place_policy pool_policy(int way)
{
	return (enum place_policy)(way - SOURCE_WAYS);
}

static const char *way_name(int way, char buf[static 32])
{
	if (way < SOURCE_WAYS)
		return ways[way].name;
	snprintf(buf, 32, "pool: %s", place_name(pool_policy(way)));
	return buf;
}

static int cell_index(const struct owners *o, int model, int load, int way, int seed)
{
	return ((model * LOADS + load) * WAYS + way) * o->seeds + seed;
}

static int sweep_index(const struct owners *o, int interval, int seed)
{
	return (OWNER_MODELS * LOADS * WAYS + interval) * o->seeds + seed;
}

static struct stations_case case_of(const struct owners *o, int task)
{
	int rest = task / o->seeds, way = rest % WAYS, load = rest / WAYS % LOADS, model = rest / WAYS / LOADS;
	struct stations_case c = {
		.quantum = QUANTUM, .interval = INTERVAL, .seed = (uint64_t)(task % o->seeds) + 1, .jobs = o->jobs};

	if (model >= OWNER_MODELS) {
		c.interval = intervals[rest - OWNER_MODELS * LOADS * WAYS];
		model = 0;
		load = LOADS - 1;
		way = FIM;
	}
	c.rule = (struct place_rule){way < SOURCE_WAYS ? ways[way].policy : pool_policy(way), o->k1, o->k2};
	c.discipline = way < SOURCE_WAYS ? ways[way].discipline : DISCIPLINE_POOL;
	c.alone = way == ALONE;
	c.load = loads[load];
	for (int k = 0; k < CLASSES; k++)
		c.share[k] = shares[model][k];
	return c;
}

static int cell_work(void *context, int task, void *ret, struct err *err)
{
	struct stations_case c = case_of(context, task);

	*(struct stations_result *)ret = stations_run(&c);
	return 0;
}

/* ---- report ---- */

/* Returns the mean over the seeds of one way's response over another's, and half of its 90%
 * interval. */
static double ratio_of(const struct owners *o, int model, int load, int way, int over, enum station_class class,
		       double *ret_half)
{
	double sum = 0, squares = 0;

	for (int s = 0; s < o->seeds; s++) {
		double v = o->cells[cell_index(o, model, load, way, s)].response[class] /
			   o->cells[cell_index(o, model, load, over, s)].response[class];
		sum += v;
		squares += v * v;
	}
	double mean = sum / o->seeds, var = o->seeds > 1 ? (squares - sum * mean) / (o->seeds - 1) : 0;
	double f = o->seeds > 1 ? o->seeds - 1 : 1, t = 1.645 + 1.52 / f + 1.42 / (f * f) + 1.7 / (f * f * f);
	*ret_half = t * sqrt((var > 0 ? var : 0) / o->seeds);
	return mean;
}

/* Returns the way that others are compared with: fim, or owners alone for interactive work on
 * stations without batch work. */
static int base_of(int model, enum station_class class)
{
	return class == CLASS_INTERACTIVE && !model ? ALONE : FIM;
}

static void ratio_cells(struct table *t, const struct owners *o, int model, int load, int way, enum station_class class)
{
	int over = base_of(model, class);

	if (shares[model][class] == 0 || (way == over) || (way == ALONE && class == CLASS_PARALLEL)) {
		table_cell(t, "%s", "");
		table_cell(t, "%s", "");
		return;
	}
	double half, v = ratio_of(o, model, load, way, over, class, &half);
	table_cell(t, "%.2f", v);
	table_cell(t, "%.2f", half);
}

/* Returns the mean response of a parallel job with an interval of load exchange, and writes the
 * reports per station and unit of time. */
static double sweep_of(const struct owners *o, int interval, double *ret_reports)
{
	double response = 0;

	*ret_reports = 0;
	for (int s = 0; s < o->seeds; s++) {
		const struct stations_result *r = &o->cells[sweep_index(o, interval, s)];
		response += r->response[CLASS_PARALLEL] / o->seeds;
		*ret_reports += r->reports / o->seeds;
	}
	return response;
}

static void sweep_print(const struct owners *o, FILE *out)
{
	static const char *const columns[] = {">interval", ">parallel", ">reports"};
	struct table *t = table_create(columns, 3);

	fprintf(out, "\nThe interval of load exchange, under fim at load %g:\n\n", loads[LOADS - 1]);
	for (int i = 0; i < SWEEP; i++) {
		double reports, response = sweep_of(o, i, &reports);
		table_cell(t, "%g", intervals[i]);
		table_cell(t, "%.0f", response);
		table_cell(t, "%.3f", reports);
	}
	table_print(t, out, WIDTH);
	table_destroy(t);
	fprintf(out, "\nparallel: mean response of a job, in units of time; reports: per station and unit of time\n");
}

static void owners_print(const struct owners *o, FILE *out)
{
	static const char *const columns[] = {"classes", ">load",     "way", ">interactive", ">±", ">batch",
					      ">±",	 ">parallel", ">±"};
	struct table *t = table_create(columns, 9);
	char name[32];

	fprintf(out, "%d stations, %d parallel jobs of %d tasks, %d seeds\n\n", STATIONS, o->jobs, GRAPH_TASKS,
		o->seeds);
	for (int m = 0; m < OWNER_MODELS; m++)
		for (int l = 0; l < LOADS; l++) {
			table_rule(t);
			for (int w = FIM; w < WAYS; w++) {
				table_cell(t, "%s", w > FIM || l ? "" : m ? "with batch" : "interactive");
				if (w > FIM)
					table_cell(t, "%s", "");
				else
					table_cell(t, "%g", loads[l]);
				table_cell(t, "%s", way_name(w, name));
				for (int k = 0; k < CLASSES; k++)
					ratio_cells(t, o, m, l, w, (enum station_class)k);
			}
		}
	table_print(t, out, WIDTH);
	table_destroy(t);
	fprintf(out,
		"\nMean response: of interactive work over that without parallel jobs (with batch work: over that under fim); of "
		"batch work and parallel jobs over that under fim. ±: half of the 90%% interval.\n");
	sweep_print(o, out);
}

static void owners_json(const struct owners *o, FILE *out)
{
	static const char *const names[CLASSES] = {"interactive", "batch", "parallel"},
				 *const ratios[CLASSES] = {"interactive_ratio", "batch_ratio", "parallel_ratio"},
				 *const halves[CLASSES] = {"interactive_half", "batch_half", "parallel_half"};
	struct strbuf text = {0};
	struct json j;
	char name[32];

	json_init(&j, &text, true);
	json_open_array(&j, NULL);
	for (int i = 0; i < OWNER_MODELS * LOADS * WAYS; i++) {
		int model = i / WAYS / LOADS;
		json_open_object(&j, NULL);
		json_text(&j, "model", model ? "batch" : "interactive");
		json_double(&j, "load", loads[i / WAYS % LOADS]);
		json_text(&j, "way", way_name(i % WAYS, name));
		for (int k = 0; k < CLASSES; k++) {
			double sum = 0, half,
			       ratio = ratio_of(o, model, i / WAYS % LOADS, i % WAYS,
						base_of(model, (enum station_class)k), (enum station_class)k, &half);
			for (int s = 0; s < o->seeds; s++)
				sum += o->cells[cell_index(o, model, i / WAYS % LOADS, i % WAYS, s)].response[k];
			json_double(&j, names[k], sum / o->seeds);
			json_double(&j, ratios[k], ratio);
			json_double(&j, halves[k], half);
		}
		json_close_object(&j);
	}
	for (int i = 0; i < SWEEP; i++) {
		double reports, response = sweep_of(o, i, &reports);
		json_open_object(&j, NULL);
		json_double(&j, "interval", intervals[i]);
		json_double(&j, "parallel", response);
		json_double(&j, "reports", reports);
		json_close_object(&j);
	}
	json_close_array(&j);
	fprintf(out, "%s\n", strbuf_text(&text));
	strbuf_fini(&text);
}

static int owners_chart(const struct owners *o, const char *dir, const char *name, enum station_class class, int over,
			const char *title, struct err *err)
{
	const char *group[LOADS], *series[WAYS - 1];
	char names[LOADS][16], way_names[WAYS][32];
	double value[LOADS * (WAYS - 1)], half;

	for (int l = 0; l < LOADS; l++) {
		snprintf(names[l], sizeof names[l], "%g", loads[l]);
		group[l] = names[l];
		for (int w = FIM; w < WAYS; w++) {
			series[w - 1] = way_name(w, way_names[w]);
			value[l * (WAYS - 1) + w - 1] = ratio_of(o, 0, l, w, over, class, &half);
		}
	}
	return charts_draw(dir, name,
			   &(struct chart_bars){.title = title,
						.ylabel = "ratio of mean responses",
						.group = group,
						.series = series,
						.ngroups = LOADS,
						.nseries = WAYS - 1,
						.value = value},
			   err);
}

int experiment_owners(const struct push_options *o, FILE *out, bool *ret_claims, struct err *err)
{
	struct owners m = {.seeds = o->seeds, .jobs = o->jobs ? o->jobs : JOBS, .k1 = o->k1, .k2 = o->k2};
	struct pool_tasks tasks = {
		.work = cell_work,
		.context = &m,
		.n = OWNER_MODELS * LOADS * WAYS + SWEEP,
		.size = sizeof(struct stations_result),
	};
	void *cells = NULL;
	int rc = cells_run(o, &tasks, &cells, err);

	if (rc == 0) {
		m.cells = cells;
		(o->json ? owners_json : owners_print)(&m, out);
		if (ret_claims)
			*ret_claims = true; /* it makes no claims */
		if (o->charts)
			rc = owners_chart(&m, o->charts, "interactive", CLASS_INTERACTIVE, ALONE,
					  "Interactive response, over that without parallel jobs, by load", err);
		if (rc == 0 && o->charts)
			rc = owners_chart(&m, o->charts, "parallel", CLASS_PARALLEL, FIM,
					  "Response of parallel jobs, over that under fim, by load", err);
	}
	pool_free(cells, tasks.n, tasks.size);
	return rc;
}
