/*
 * experiment_push.c - the runs of the push experiments (docs/simulator.md).
 *
 * A run is a model, an experiment, a variant of a policy and a seed. All variants get the same
 * workload for the same seed, so gains are compared seed by seed.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/rng.h"
#include "lab/experiment_internal.h"
#include "lab/oracle.h"
#include "sim/pool.h"
#include "sim/sim.h"
#include "station/place.h"

#define MACHINE "nodes:40x8"
#define MACHINE_FLAT "flat:320" /* perfect packing: the same CPUs in one node */
#define JOBS 318
#define TOLERANCE 10
#define STARVE_AFTER 1800
#define MIGRATE_COST 60

/* The oracle examines a random sample of blocked attempts, one in ORACLE_ONE_IN, and tries at
 * most ORACLE_BUDGET assignments for each. */
#define ORACLE_ONE_IN 8
#define ORACLE_BUDGET 400

const char model_letters[MODELS] = {'A', 'C'};

const struct push_experiment push_experiments[EXPERIMENTS] = {
	{"1 common, fixed", 60, true, false, 0, 0, false, 1.54, 1.82, 0, 0},
	{"2 starving, fixed", 60, true, true, 0, 0, false, 1.40, 1.54, 0, 0},
	{"3 common, exp.", 60, false, false, 0, 0, true, 1.43, 1.64, 0, 0},
	{"4 starving, exp.", 60, false, true, 0, 0, true, 1.38, 1.50, 0, 0},
	{"5 common, 329 s", 329, false, false, 0, 0, false, 1.01, 1.01, 0, 0},
	{"6 starving, 329 s", 329, false, true, 0, 0, false, 1.02, 1.03, 0, 0},
	{"7 QoS", 60, false, true, 64, 0, true, 1.86, 2.07, 40, 13},
	{"8 emergency", 60, false, true, 0, 16, false, 1.41, 1.48, 16, 4},
};

const char *const measure_names[MEASURES] = {
	[M_TURNAROUND] = "turnaround",
	[M_RESPONSE] = "response",
	[M_WAIT_P99] = "wait_p99",
	[M_WAIT_MAX] = "wait_max",
	[M_DEADLINES] = "deadlines",
	[M_MET] = "deadlines_met",
	[M_EXPIRED] = "expired",
	[M_GUARANTEED] = "guaranteed",
	[M_BROKEN] = "guarantees_broken",
	[M_BROKEN_BY_POWER] = "broken_by_power",
	[M_EMERGENCY] = "emergency",
	[M_EMERGENCY_MET] = "emergency_met",
	[M_EMERGENCY_FEASIBLE] = "emergency_feasible",
	[M_PREEMPTED] = "preempted",
	[M_RESCUED] = "rescued_by_push",
	[M_MIGRATIONS] = "migrations",
	[M_BLOCKED] = "blocked",
	[M_ASKED] = "oracle_asked",
	[M_HELPED] = "oracle_could_help",
	[M_UNDECIDED] = "oracle_undecided",
	[M_SECONDS] = "seconds",
};

const char *const variant_names[VARIANTS] = {
	[V_TORQUE] = "torque",
	[V_OSCAR] = "oscar (push depth 1)",
	[V_LIGHT] = "shunt-light",
	[V_DEFAULT] = "shunt",
	[V_TORQUE_WEIGHT] = "torque, lightest first",
	[V_TORQUE_SHARED] = "  and nodes shared, best fit",
	[V_DEPTH0] = "oscar, no push",
	[V_DEPTH2] = "oscar, push depth 2",
	[V_DEPTH3] = "oscar, push depth 3",
	[V_SMALLEST] = "oscar, fewest CPUs first",
	[V_FIRST] = "oscar, first fit",
	[V_APART] = "oscar, parts apart",
	[V_DRAIN] = "oscar, drains for starving",
	[V_OLDEST] = "oscar, one reservation",
	[V_NO_STARVING] = "oscar, none starves",
	[V_LIGHT_NO_PUSH] = "shunt-light, no push",
	[V_LIGHT_NO_HEAD] = "shunt-light, head reserves not",
	[V_FLAT] = "oscar, perfect packing",
	[V_MIGRATE] = "oscar, moves running jobs",
	[V_LIGHT_MIGRATE] = "shunt-light, moves running jobs",
};

/* Returns the policy of a variant: a row of the policy table with one part changed. */
static struct policy variant_policy(enum variant v)
{
	bool torque = v == V_TORQUE || v == V_TORQUE_WEIGHT || v == V_TORQUE_SHARED;
	bool shunt =
		v == V_LIGHT || v == V_DEFAULT || v == V_LIGHT_NO_PUSH || v == V_LIGHT_NO_HEAD || v == V_LIGHT_MIGRATE;
	struct policy p = *policy_find(torque ? "torque" : shunt ? "shunt" : "oscar");

	switch (v) {
	case V_TORQUE_SHARED:
		p.scatter = false;
		p.alloc = ALLOC_BEST;
		/* fall through */
	case V_TORQUE_WEIGHT:
		p.order = p.backfill = ORDER_WEIGHT;
		break;
	case V_DEPTH0:
	case V_LIGHT_NO_PUSH:
		p.push_depth = 0;
		break;
	case V_DEPTH2:
		p.push_depth = 2;
		break;
	case V_DEPTH3:
		p.push_depth = 3;
		break;
	case V_SMALLEST:
		p.order = p.backfill = ORDER_SMALLEST;
		break;
	case V_FIRST:
		p.alloc = ALLOC_FIRST;
		break;
	case V_APART:
		p.scatter = true;
		break;
	case V_DRAIN:
		p.starve = STARVE_DRAIN;
		break;
	case V_OLDEST:
		p.starve = STARVE_OLDEST;
		break;
	case V_NO_STARVING:
		p.starve = STARVE_NOTHING;
		break;
	case V_LIGHT_NO_HEAD:
		p.reserve = RESERVE_NONE;
		break;
	default:
		break;
	}
	return p;
}

/* Context of the callback that asks the oracle about blocked attempts. */
struct asking {
	struct rng rng;
	struct cell *cell;
};

static void ask(void *context, const struct plan *p, uint32_t job, int64_t length)
{
	struct asking *a = context;

	if (rng_below(&a->rng, ORACLE_ONE_IN) != 0)
		return;
	enum verdict v = oracle_repack(p, job, length, ORACLE_BUDGET);
	a->cell->v[M_ASKED]++;
	a->cell->v[M_HELPED] += v == VERDICT_YES;
	a->cell->v[M_UNDECIDED] += v == VERDICT_OPEN;
}

static void cell_fill(struct cell *c, const struct metrics *m, const struct sim_result *r)
{
	double *v = c->v;

	v[M_TURNAROUND] = m->turnaround.mean;
	v[M_RESPONSE] = m->wait.mean;
	v[M_WAIT_P99] = m->wait.p99;
	v[M_WAIT_MAX] = m->wait.max;
	v[M_DEADLINES] = (double)m->deadlines;
	v[M_MET] = (double)m->deadlines_met;
	v[M_EXPIRED] = (double)m->expired;
	v[M_GUARANTEED] = (double)m->guaranteed;
	v[M_BROKEN] = (double)m->guarantees_broken;
	v[M_BROKEN_BY_POWER] = (double)m->broken_by_power;
	v[M_EMERGENCY] = (double)m->emergency;
	v[M_EMERGENCY_MET] = (double)m->emergency_met;
	v[M_PREEMPTED] = (double)m->preempted;
	v[M_RESCUED] = (double)r->stats.rescued;
	v[M_MIGRATIONS] = (double)r->stats.migrations;
	v[M_BLOCKED] = (double)r->stats.blocked;
	v[M_SECONDS] = r->seconds;
}

static struct workload *workload_of(int model, int experiment, enum variant v, int seed, int jobs)
{
	const struct push_experiment *e = &push_experiments[experiment];
	struct oscar_model m = {
		.model = model_letters[model],
		.jobs = jobs,
		.mean_gap = e->mean_gap,
		.fixed_gap = e->fixed_gap,
		.qos = e->qos,
		.emergency = e->emergency,
		.seed = (uint64_t)seed,
	};
	struct workload *w = generate_oscar(&m);

	if (v == V_FLAT)
		workload_flatten(w);
	return w;
}

static int cell_run(int model, int experiment, enum variant v, int seed, int jobs, struct cell *ret, struct err *err)
{
	const struct push_experiment *e = &push_experiments[experiment];
	struct policy policy = variant_policy(v);
	struct asking asking = {.cell = ret};
	struct sim_options o;
	struct sim_result r;
	struct metrics m;
	struct workload *w = workload_of(model, experiment, v, seed, jobs);
	struct starts starts = {0};
	int64_t feasible = 0;

	sim_options_init(&o);
	o.machine = v == V_FLAT ? MACHINE_FLAT : MACHINE;
	o.settings.tolerance = TOLERANCE;
	o.settings.fixed_factor = 1.5;
	if (v != V_DEFAULT)
		o.settings.starve_after = e->starving ? STARVE_AFTER : TIME_NEVER;
	o.settings.max_deallocations = 3;
	if (v == V_MIGRATE || v == V_LIGHT_MIGRATE)
		o.settings.migrate_cost = MIGRATE_COST;
	if (v == V_OSCAR || v == V_LIGHT || v == V_DEFAULT) {
		rng_seed(&asking.rng, (uint64_t)seed);
		o.blocked = ask;
		o.blocked_context = &asking;
	}
	if (e->emergency) {
		o.listener = starts_listen;
		o.listener_context = &starts;
	}
	int rc = sim_run(w, &policy, &o, &r, err);
	if (rc == 0) {
		metrics_compute(&m, r.outcome, r.n, r.procs);
		cell_fill(ret, &m, &r);
		if (e->emergency)
			rc = oracle_emergencies(w, r.outcome, &starts, o.machine, TOLERANCE, &feasible, err);
		ret->v[M_EMERGENCY_FEASIBLE] = (double)feasible;
		sim_result_fini(&r);
	}
	starts_fini(&starts);
	workload_destroy(w);
	return rc;
}

/* One run. */
struct task {
	int model, experiment, seed;
	enum variant variant;
};

struct tasks {
	/* ordered by seed for even progress, because experiments differ much in cost */
	VEC(struct task) list;
	int jobs; /* size of each workload */
};

static int task_work(void *context, int task, void *ret, struct err *err)
{
	const struct tasks *tasks = context;
	const struct task *t = &tasks->list.v[task];

	return cell_run(t->model, t->experiment, t->variant, t->seed, tasks->jobs, ret, err);
}

static void task_name(void *context, int task, char *buf, size_t size)
{
	const struct task *t = &((struct tasks *)context)->list.v[task];

	snprintf(buf, size, "model %c, experiment %s, %s, seed %d", model_letters[t->model],
		 push_experiments[t->experiment].name, variant_names[t->variant], t->seed);
}

static void tasks_list(struct tasks *tasks, struct push_results *r)
{
	int cells = 0;

	for (int m = 0; m < MODELS; m++)
		for (int e = 0; e < EXPERIMENTS; e++)
			for (int v = 0; v < VARIANTS; v++) {
				bool runs = v < V_MAIN || push_experiments[e].ablation;
				r->where[m][e][v] = runs ? cells : -1;
				cells += runs ? r->seeds : 0;
			}
	for (int s = 1; s <= r->seeds; s++)
		for (int m = 0; m < MODELS; m++)
			for (int e = 0; e < EXPERIMENTS; e++)
				for (int v = 0; v < VARIANTS; v++)
					if (r->where[m][e][v] >= 0)
						vec_push(&tasks->list, (struct task){m, e, s, (enum variant)v});
}

/* Reorders the cells from the order of the tasks to that of the report, with the seeds of a run
 * side by side. */
static struct cell *cells_sort(const struct tasks *tasks, const struct push_results *r, const struct cell *done)
{
	struct cell *cells = mem_alloc(tasks->list.n * sizeof *cells);

	for (size_t i = 0; i < tasks->list.n; i++) {
		const struct task *t = &tasks->list.v[i];
		cells[r->where[t->model][t->experiment][t->variant] + t->seed - 1] = done[i];
	}
	return cells;
}

int charts_dir(const char *dir, struct err *err)
{
	struct stat st;

	if (mkdir(dir, 0777) == 0 || (errno == EEXIST && stat(dir, &st) == 0 && S_ISDIR(st.st_mode)))
		return 0;
	int code = errno == EEXIST ? ENOTDIR : errno;
	return err_set(err, -code, "%s: no directory for charts: %s", dir, strerror(code));
}

int charts_draw(const char *dir, const char *name, const struct chart_bars *b, struct err *err)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof path, "%s/%s.svg", dir, name) >= (int)sizeof path)
		return err_set(err, -ENAMETOOLONG, "%s: name too long", dir);
	return chart_bars_draw(path, b, err);
}

int cells_run(const struct push_options *o, struct pool_tasks *tasks, void **ret, struct err *err)
{
	if (o->seeds < 2)
		return err_set(err, -EINVAL, "%d seeds: at least 2 are needed for confidence intervals", o->seeds);
	int rc = o->charts ? charts_dir(o->charts, err) : 0;
	tasks->n *= o->seeds;
	tasks->workers = o->workers;
	tasks->what = o->progress ? "simulating" : NULL;
	return rc < 0 ? rc : pool_run_tasks(tasks, ret, err);
}

void push_options_init(struct push_options *o)
{
	*o = (struct push_options){.seeds = 30, .k1 = PLACE_K1, .k2 = PLACE_K2};
}

static int results_report(const struct push_options *o, const struct push_results *r, FILE *out, bool *ret_claims,
			  struct err *err)
{
	bool held = (o->json ? push_report_json : push_report)(r, out);

	if (ret_claims)
		*ret_claims = held;
	return o->charts ? push_charts(r, o->charts, err) : 0;
}

int experiment_push(const struct push_options *o, FILE *out, bool *ret_claims, struct err *err)
{
	struct push_results r = {.seeds = o->seeds, .jobs = o->jobs ? o->jobs : JOBS};
	struct tasks tasks = {.jobs = r.jobs};
	void *done = NULL;

	tasks_list(&tasks, &r);
	struct pool_tasks pool = {
		.work = task_work,
		.context = &tasks,
		.n = o->seeds > 0 ? (int)tasks.list.n / o->seeds : 0,
		.size = sizeof(struct cell),
		.name = task_name,
	};
	double begin = real_seconds();
	int rc = cells_run(o, &pool, &done, err);
	r.seconds = real_seconds() - begin;
	if (rc == 0) {
		struct cell *cells = cells_sort(&tasks, &r, done);
		r.cells = cells;
		rc = results_report(o, &r, out, ret_claims, err);
		free(cells);
	}
	pool_free(done, pool.n, pool.size);
	vec_free(&tasks.list);
	return rc;
}
