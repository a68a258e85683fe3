/*
 * experiment_move.c - how much of the distance to perfect packing is recovered by moving running
 * jobs (docs/simulator.md).
 *
 * The same workloads run on nodes, on nodes with moves (one per blocked job, at a cost), and on one
 * large node, where every job fits that the sum of free CPUs allows. The recovered part is the
 * share of the difference in mean wait between the first and the last that moves remove, over all
 * seeds. Its error comes from a jackknife, because the ratio of a single seed is mostly noise.
 */
#include <math.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/table.h"
#include "lab/experiment_internal.h"
#include "sim/pool.h"
#include "sim/sim.h"

#define MACHINE "nodes:40x8"
#define MACHINE_FLAT "flat:320"
#define CPUS 320
#define JOBS 1000
#define LOAD 0.95 /* arriving work as a share of the machine */
#define WIDTH 100

enum { POLICIES = 2, COSTS = 4, SIZES = 2 };

static const char *const policy_names[POLICIES] = {"oscar", "shunt"};
static const int64_t costs[COSTS] = {10, 60, 300, 900};
static const struct {
	enum mix mix;
	const char *name, *about, *trial;
} sizes[SIZES] = {
	{MIX_POWERS, "powers_of_two", "1, 2, 4, 8", "65 to 76%"},
	{MIX_ODD, "odd", "3, 5, 6", "8 to 12%"},
};

/* Ways to run: on nodes, packed perfectly, or with moves at costs[manner - MOVING]. */
enum manner_of { STAYING, PACKED, MOVING, MANNERS = MOVING + COSTS };

struct move_cell {
	double wait, moves;
};

struct moves {
	int seeds, jobs;
	const struct move_cell *cells; /* [size][policy][manner][seed] */
};

static int cell_index(const struct moves *m, int size, int policy, int manner, int seed)
{
	return ((size * POLICIES + policy) * MANNERS + manner) * m->seeds + seed;
}

static void cell_place(const struct moves *m, int i, int *size, int *policy, int *manner, int *seed)
{
	*seed = i % m->seeds;
	*manner = i / m->seeds % MANNERS;
	*policy = i / m->seeds / MANNERS % POLICIES;
	*size = i / m->seeds / MANNERS / POLICIES;
}

static int cell_work(void *context, int task, void *ret, struct err *err)
{
	const struct moves *all = context;
	int size, policy, manner, seed;
	struct move_cell *cell = ret;
	struct workload *w;
	struct sim_options o;
	struct sim_result r;
	struct metrics m;

	cell_place(all, task, &size, &policy, &manner, &seed);
	w = generate_oscar(&(struct oscar_model){
		.model = 'A',
		.mix = sizes[size].mix,
		.jobs = all->jobs,
		.mean_gap = generate_work(sizes[size].mix) / CPUS / LOAD,
		.seed = (uint64_t)seed + 1,
	});
	if (manner == PACKED)
		workload_flatten(w);
	sim_options_init(&o);
	o.machine = manner == PACKED ? MACHINE_FLAT : MACHINE;
	if (manner >= MOVING)
		o.settings.migrate_cost = costs[manner - MOVING];
	int rc = sim_run(w, policy_find(policy_names[policy]), &o, &r, err);
	if (rc == 0) {
		metrics_compute(&m, r.outcome, r.n, r.procs);
		*cell = (struct move_cell){m.wait.mean, (double)r.stats.migrations};
		sim_result_fini(&r);
	}
	workload_destroy(w);
	return rc;
}

static void cell_name(void *context, int task, char *buf, size_t n)
{
	int size, policy, manner, seed;

	cell_place(context, task, &size, &policy, &manner, &seed);
	snprintf(buf, n, "jobs of %s CPUs, policy %s, seed %d", sizes[size].about, policy_names[policy], seed + 1);
}

/* ---- report ---- */

static double mean(const struct moves *m, int size, int policy, int manner, bool moves, int without)
{
	double sum = 0;

	for (int s = 0; s < m->seeds; s++) {
		const struct move_cell *c = &m->cells[cell_index(m, size, policy, manner, s)];
		if (s != without)
			sum += moves ? c->moves : c->wait;
	}
	return sum / (m->seeds - (without >= 0));
}

static double recovered_but(const struct moves *m, int size, int policy, int cost, int without)
{
	double staying = mean(m, size, policy, STAYING, false, without),
	       packed = mean(m, size, policy, PACKED, false, without),
	       moving = mean(m, size, policy, MOVING + cost, false, without);

	return staying - packed > 0 ? (staying - moving) / (staying - packed) : NAN;
}

/* Returns the recovered part over all seeds, and its standard error. */
static double recovered(const struct moves *m, int size, int policy, int cost, double *ret_error)
{
	double all = recovered_but(m, size, policy, cost, -1), squares = 0;

	for (int s = 0; s < m->seeds; s++) {
		double d = recovered_but(m, size, policy, cost, s) - all;
		squares += d * d;
	}
	*ret_error = sqrt(squares * (m->seeds - 1) / m->seeds);
	return all;
}

/* Prints a value that applies to all costs, only in the first of their rows. */
static void first_cell(struct table *t, int cost, double seconds)
{
	if (cost)
		table_cell(t, "%s", "");
	else
		table_cell(t, "%.0f", seconds);
}

static void moves_print(const struct moves *m, FILE *out)
{
	static const char *const columns[] = {"CPUs",	       "policy",	  ">wait, s",
					      ">if packed, s", ">cost of a move", ">with moves, s",
					      ">recovered",    ">moves per job"};
	struct table *t = table_create(columns, 8);
	double error;

	fprintf(out, "%d jobs on 40 nodes of 8 CPUs at a load of %g, %d seeds; one move for each blocked job\n\n",
		m->jobs, LOAD, m->seeds);
	for (int size = 0; size < SIZES; size++)
		for (int policy = 0; policy < POLICIES; policy++) {
			table_rule(t);
			for (int cost = 0; cost < COSTS; cost++) {
				double part = recovered(m, size, policy, cost, &error);
				table_cell(t, "%s", cost ? "" : sizes[size].about);
				table_cell(t, "%s", cost ? "" : policy_names[policy]);
				first_cell(t, cost, mean(m, size, policy, STAYING, false, -1));
				first_cell(t, cost, mean(m, size, policy, PACKED, false, -1));
				table_cell(t, "%lld s", (long long)costs[cost]);
				table_cell(t, "%.0f", mean(m, size, policy, MOVING + cost, false, -1));
				if (isnan(part))
					table_cell(t, "-");
				else
					table_cell(t, "%.0f%% ±%.0f", 100 * part, 200 * error);
				table_cell(t, "%.2f", mean(m, size, policy, MOVING + cost, true, -1) / m->jobs);
			}
		}
	table_print(t, out, WIDTH);
	table_destroy(t);
	fprintf(out,
		"\nrecovered: of the difference between the wait on nodes and the wait if packed perfectly (-: there is none); ±: 95%%\n");
	for (int size = 0; size < SIZES; size++)
		fprintf(out, "our trial, before this code: %s for jobs of %s CPUs, at 60 s\n", sizes[size].trial,
			sizes[size].about);
}

static void moves_json(const struct moves *m, FILE *out)
{
	struct strbuf text = {0};
	struct json j;

	json_init(&j, &text, true);
	json_open_array(&j, NULL);
	for (int size = 0; size < SIZES; size++)
		for (int policy = 0; policy < POLICIES; policy++)
			for (int cost = 0; cost < COSTS; cost++) {
				double error, part = recovered(m, size, policy, cost, &error);
				json_open_object(&j, NULL);
				json_text(&j, "sizes", sizes[size].name);
				json_text(&j, "policy", policy_names[policy]);
				json_int(&j, "cost", costs[cost]);
				json_double(&j, "wait", mean(m, size, policy, STAYING, false, -1));
				json_double(&j, "wait_packed", mean(m, size, policy, PACKED, false, -1));
				json_double(&j, "wait_moving", mean(m, size, policy, MOVING + cost, false, -1));
				json_double(&j, "recovered", part);
				json_double(&j, "recovered_error", error);
				json_double(&j, "moves_per_job",
					    mean(m, size, policy, MOVING + cost, true, -1) / m->jobs);
				json_close_object(&j);
			}
	json_close_array(&j);
	fprintf(out, "%s\n", strbuf_text(&text));
	strbuf_fini(&text);
}

static int moves_chart(const struct moves *m, const char *dir, struct err *err)
{
	static const char *const series[] = {"10 s", "60 s", "300 s", "900 s"};
	const char *group[SIZES * POLICIES];
	char names[SIZES * POLICIES][64];
	double value[SIZES * POLICIES * COSTS], error;

	for (int i = 0; i < SIZES * POLICIES; i++) {
		snprintf(names[i], sizeof names[i], "%s, %s CPUs", policy_names[i % POLICIES],
			 sizes[i / POLICIES].about);
		group[i] = names[i];
		for (int cost = 0; cost < COSTS; cost++)
			value[i * COSTS + cost] = 100 * recovered(m, i / POLICIES, i % POLICIES, cost, &error);
	}
	return charts_draw(dir, "move",
			   &(struct chart_bars){.title = "Moving running jobs, by the cost of a move",
						.ylabel = "% of the distance to perfect packing",
						.group = group,
						.series = series,
						.ngroups = SIZES * POLICIES,
						.nseries = COSTS,
						.value = value},
			   err);
}

/* Returns true if, under oscar, moves at a cost of 60 s recover more than half for powers of
 * two, and much less for odd sizes, where few moves free a large enough gap. */
static bool claims_hold(const struct moves *m)
{
	double powers = recovered_but(m, 0, 0, 1, -1), odd = recovered_but(m, 1, 0, 1, -1);

	return powers > 0.5 && odd > 0 && odd < powers / 2;
}

int experiment_move(const struct push_options *o, FILE *out, bool *ret_claims, struct err *err)
{
	struct moves m = {.seeds = o->seeds, .jobs = o->jobs ? o->jobs : JOBS};
	struct pool_tasks tasks = {
		.work = cell_work,
		.context = &m,
		.n = SIZES * POLICIES * MANNERS,
		.size = sizeof(struct move_cell),
		.name = cell_name,
	};
	void *cells = NULL;
	int rc = cells_run(o, &tasks, &cells, err);

	if (rc == 0) {
		m.cells = cells;
		(o->json ? moves_json : moves_print)(&m, out);
		if (ret_claims)
			*ret_claims = claims_hold(&m);
		if (o->charts)
			rc = moves_chart(&m, o->charts, err);
	}
	pool_free(cells, tasks.n, tasks.size);
	return rc;
}
