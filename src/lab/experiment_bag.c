/*
 * experiment_bag.c - bags of tasks on clusters that run traces: 36 types of bags, one to six
 * requests at a time, and the adapter's heuristics side by side (docs/simulator.md).
 *
 * A repetition is an instant of the trace. The trace is simulated once from its beginning up to
 * that instant. Then a child process for each bag continues from that state, which fork() copies on
 * write. So no window approximates the queue, and all heuristics meet the same queue with the same
 * tasks.
 *
 * A scenario whose mean times are known well enough is not simulated further
 * (bag_options.precision). The workers see each other's results in shared memory, so the number of
 * instants simulated may depend on which worker is faster. The outcome of a bag does not.
 *
 * Each completed repetition appends one block of lines to the results file. Bags found in the file
 * are not simulated again.
 */
#include "lab/experiment_bag.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "lab/experiment_internal.h"
#include "sim/pool.h"

#define HOUR 3600
#define QUICK_SITES 3 /* a quick run uses the first QUICK_SITES sites */

/* The source simulates CTC with 512 processors; the trace's header says 338. It took the raw logs
 * of SDSC, which offer less load than the cleaned ones that we have: sites named -source have its
 * loads. */
const struct bag_site bag_sites[BAG_SITES] = {
	{"SDSC-SP2", "SDSC-SP2", 128, 18 * HOUR, 1, 0, {0}},
	{"SDSC-BLUE", "SDSC-BLUE", 1152, 36 * HOUR, 1, 0, {0}},
	{"CTC-SP2", "CTC-SP2", 338, 18 * HOUR, 1, 0, {0}},
	{"CTC-512", "CTC-SP2", 512, 18 * HOUR, 1, 0, {14.74, 14.73}},
	{"CTC-512-0.9", "CTC-SP2", 512, 18 * HOUR, 0.9, 0, {1.99, 0}},
	{"CTC-512-0.7", "CTC-SP2", 512, 18 * HOUR, 0.7, 0, {1.83, 0}},
	{"SDSC-SP2-source", "SDSC-SP2", 128, 18 * HOUR, 0, 0.72, {2.05, 1.37}},
	{"SDSC-BLUE-source", "SDSC-BLUE", 1152, 36 * HOUR, 0, 0.73, {2.37, 1.59}},
};

static const int64_t sizes[BAG_SIZES] = {100, 1000, 10000, 100000}, means[BAG_MEANS] = {100, 1000, 10000};
static const int spreads[BAG_SPREADS] = {1, 2, 4};

struct bag_type bag_type_of(int type)
{
	return (struct bag_type){
		.tasks = sizes[type / BAG_SPREADS / BAG_MEANS],
		.mean = means[type / BAG_SPREADS % BAG_MEANS],
		.spread = spreads[type % BAG_SPREADS],
	};
}

bool bag_type_small(int type)
{
	struct bag_type t = bag_type_of(type);

	return t.tasks <= 1000 && t.mean <= 1000;
}

struct experiment {
	const struct bag_options *o;
	struct workload *w[BAG_SITES]; /* NULL: the site is not run, or its trace is missing */
	struct bag_results r;
	VEC(int) todo; /* site * repetitions + repetition */
	int out;       /* results file, open for appending; -1: none */
};

/* ---- one repetition ---- */

static bool is_wanted(const struct bag_options *o, int repetition, int type, int pending)
{
	if ((repetition >= o->repetitions && !bag_type_small(type)) ||
	    (o->most_tasks && bag_type_of(type).tasks > o->most_tasks))
		return false;
	return !o->quick || (bag_type_of(type).spread == 2 && (pending == 0 || pending == 2 || pending == 5));
}

/* Returns true if a bag must still be simulated at an instant. */
static bool is_open(const struct experiment *x, int site, int repetition, int type, int pending)
{
	return is_wanted(x->o, repetition, type, pending) &&
	       !bag_cell_at(&x->r, site, repetition, type, pending)->run &&
	       !(x->o->precision > 0 && bag_is_known(&x->r, site, type, pending, x->o->precision / 100));
}

/* Returns true if heuristic h runs bags of this type. `initial` requests processors for a few
 * tasks at a time, so large bags would take it centuries. */
static bool is_run(const struct bag_results *r, int type, int h)
{
	return r->heuristic[h] && (h != ADAPTER_INITIAL || bag_type_small(type));
}

/* Runs in a child: simulates the bag from the inherited state. */
static void bag_try(struct bagsim *b, int site, int type, int pending, int h, int64_t seed, struct bag_cell *cell)
{
	struct bag_case c = {
		.heuristic = (enum adapter_heuristic)h,
		.limits = {.requests = pending + 1, .procs = bag_sites[site].procs, .time = bag_sites[site].max_time},
		.type = bag_type_of(type),
		.seed = rng_seed_of((uint64_t)seed, (uint64_t)type),
	};
	struct bag_outcome got = bagsim_bag(b, &c, 0);

	cell->seconds[h] = (float)(got.seconds > 0 ? got.seconds : 1);
	cell->wasted[h] = (float)got.wasted;
}

static int in_child(struct bagsim *b, int site, int type, int pending, int h, int64_t seed, struct bag_cell *cell,
		    struct err *err)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return err_set(err, -errno, "fork: %s", strerror(errno));
	if (pid == 0) {
		bag_try(b, site, type, pending, h, seed, cell);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_set(err, -errno, "waiting for a simulation: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(err, -EIO, "a bag of type %d with %d requests under %s crashed", type, pending + 1,
			       adapter_name((enum adapter_heuristic)h));
	return 0;
}

/* Writes one line per bag: site, repetition, type, requests, and name:seconds:wasted for each
 * heuristic. The last line marks the block as complete. */
static int block_write(const struct experiment *x, int site, int repetition, struct err *err)
{
	struct strbuf text = {0};
	int rc = 0;

	for (int i = 0; i < BAG_TYPES * BAG_PENDING && x->out >= 0; i++) {
		const struct bag_cell *cell = bag_cell_at(&x->r, site, repetition, i / BAG_PENDING, i % BAG_PENDING);
		if (!cell->run)
			continue;
		strbuf_printf(&text, "%s %d %d %d", bag_sites[site].name, repetition, i / BAG_PENDING, i % BAG_PENDING);
		for (int h = 0; h < ADAPTER_HEURISTICS; h++)
			if (cell->seconds[h] > 0)
				strbuf_printf(&text, " %s:%.0f:%.0f", adapter_name((enum adapter_heuristic)h),
					      (double)cell->seconds[h], (double)cell->wasted[h]);
		strbuf_printf(&text, "\n");
	}
	if (text.n) {
		strbuf_printf(&text, "%s %d done\n", bag_sites[site].name, repetition);
		if (write(x->out, text.text, text.n) != (ssize_t)text.n)
			rc = err_set(err, -EIO, "%s: %s", x->o->results, strerror(errno));
	}
	strbuf_fini(&text);
	return rc;
}

static int64_t instant_of(const struct workload *w, int repetition, int64_t *ret_seed)
{
	struct rng r;
	uint64_t seed = rng_seed_of(1 + (uint64_t)repetition, 0);

	rng_seed(&r, seed);
	*ret_seed = (int64_t)(seed >> 1);

	int64_t first = w->jobs.v[0].submit, last = w->jobs.v[w->jobs.n - 1].submit;

	return first + (int64_t)(rng_unit(&r) * (double)(last - first));
}

static int repetition_work(void *context, int task, void *ret, struct err *err)
{
	const struct experiment *x = context;
	int site = x->todo.v[task] / x->r.repetitions, repetition = x->todo.v[task] % x->r.repetitions, rc = 0;
	int64_t seed, at = instant_of(x->w[site], repetition, &seed);
	struct bagsim *b = NULL; /* created for the first bag */

	for (int i = 0; i < BAG_TYPES * BAG_PENDING && rc == 0; i++) {
		int type = i / BAG_PENDING, pending = i % BAG_PENDING;
		struct bag_cell *cell = bag_cell_at(&x->r, site, repetition, type, pending);

		pool_step(i);
		if (!is_open(x, site, repetition, type, pending))
			continue;
		if (!b) {
			b = bagsim_create(x->w[site], bag_sites[site].procs);
			bagsim_advance(b, at);
		}
		for (int h = 0; h < ADAPTER_HEURISTICS && rc == 0; h++)
			if (is_run(&x->r, type, h) && !(cell->seconds[h] > 0))
				rc = in_child(b, site, type, pending, h, seed, cell, err);
		cell->run = rc == 0;
	}
	if (rc == 0 && b)
		rc = block_write(x, site, repetition, err);
	bagsim_destroy(b);
	return rc;
}

static void repetition_name(void *context, int task, char *buf, size_t n)
{
	const struct experiment *x = context;

	snprintf(buf, n, "%s, repetition %d", bag_sites[x->todo.v[task] / x->r.repetitions].name,
		 x->todo.v[task] % x->r.repetitions);
}

/* ---- results file ---- */

static int site_find(const char *name)
{
	for (int i = 0; i < BAG_SITES; i++)
		if (strcmp(name, bag_sites[i].name) == 0)
			return i;
	return -1;
}

static void cell_read(struct bag_cell *cell, char *words)
{
	char *save, *word;

	for (word = strtok_r(words, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
		char *value = strchr(word, ':'), *more = value ? strchr(value + 1, ':') : NULL;
		enum adapter_heuristic h;
		struct err err;

		if (!more)
			continue;
		*value = '\0';
		if (adapter_find(word, &h, &err) < 0)
			continue;
		cell->seconds[h] = strtof(value + 1, NULL);
		cell->wasted[h] = strtof(more + 1, NULL);
	}
}

/* Reads the results file, including the lines of an interrupted block: their bags are not
 * simulated again. Skips any other line. Returns the offset where the last complete line ends. */
static off_t results_read(struct experiment *x, FILE *in)
{
	char *line = NULL, name[32];
	size_t cap = 0;
	int repetition, type, pending, used;
	off_t whole = 0;

	while (getline(&line, &cap, in) > 0) {
		if (!strchr(line, '\n'))
			break;
		whole = ftello(in);
		if (sscanf(line, "%31s %d %d %d%n", name, &repetition, &type, &pending, &used) != 4)
			continue;
		int site = site_find(name);
		if (site < 0 || !x->r.cell[site] || repetition < 0 || repetition >= x->r.repetitions || type < 0 ||
		    type >= BAG_TYPES || pending < 0 || pending >= BAG_PENDING)
			continue;

		struct bag_cell *cell = bag_cell_at(&x->r, site, repetition, type, pending);

		cell_read(cell, line + used);
		cell->run = true;
		for (int h = 0; h < ADAPTER_HEURISTICS; h++)
			cell->run &= !is_run(&x->r, type, h) || cell->seconds[h] > 0;
	}
	free(line);
	return whole;
}

static int results_open(struct experiment *x, struct err *err)
{
	const char *path = x->o->results;
	FILE *in;

	if (!path)
		return 0;
	in = fopen(path, "r");
	if (in) {
		off_t whole = results_read(x, in);
		fclose(in);
		/* a partial line must not become the start of the next one */
		if (truncate(path, whole) < 0)
			return err_set(err, -errno, "%s: %s", path, strerror(errno));
	} else if (errno != ENOENT) {
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	}
	x->out = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (x->out < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

/* ---- traces ---- */

static int sites_choose(const struct bag_options *o, bool ret[BAG_SITES], struct err *err)
{
	char *list = o->sites ? mem_strdup(o->sites) : NULL, *save, *name;
	int rc = 0;

	for (int i = 0; i < BAG_SITES; i++)
		ret[i] = !list && (!o->quick || i < QUICK_SITES);
	for (name = list ? strtok_r(list, ",", &save) : NULL; name && rc == 0; name = strtok_r(NULL, ",", &save)) {
		int site = site_find(name);
		if (site < 0)
			rc = err_set(
				err, -EINVAL,
				"%s: not a trace of this experiment (use SDSC-SP2, SDSC-BLUE, CTC-SP2, CTC-512, CTC-512-0.9, CTC-512-0.7, SDSC-SP2-source or SDSC-BLUE-source)",
				name);
		else
			ret[site] = true;
	}
	free(list);
	return rc;
}

static double load_of(const struct workload *w, int64_t procs)
{
	double area = 0;

	for (size_t i = 0; i < w->jobs.n; i++)
		if (w->jobs.v[i].procs <= procs)
			area += (double)w->jobs.v[i].procs * (double)(w->jobs.v[i].runtime < w->jobs.v[i].walltime
									      ? w->jobs.v[i].runtime
									      : w->jobs.v[i].walltime);
	return area / (double)procs / (double)(w->jobs.v[w->jobs.n - 1].submit - w->jobs.v[0].submit + 1);
}

static int sites_read(struct experiment *x, struct err *err)
{
	const struct bag_options *o = x->o;
	bool wanted[BAG_SITES];
	int rc = sites_choose(o, wanted, err), found = 0;

	for (int i = 0; i < BAG_SITES && rc == 0; i++) {
		const struct bag_site *s = &bag_sites[i];
		char path[PATH_MAX];

		if (!wanted[i])
			continue;
		if (!trace_find(o->dir, s->file, path, sizeof path)) {
			text_print(stderr, "shunt: ", "%s: no trace %s*.swf*: %s is left out", o->dir, s->file,
				   s->name);
			continue;
		}
		rc = workload_read(path, RULES_SC15, o->limit, &x->w[i], err);
		if (rc == 0 && !x->w[i]->jobs.n)
			rc = err_set(err, -EINVAL, "%s: no jobs", path);
		if (rc < 0)
			break;
		double gaps = s->gaps > 0 ? s->gaps : load_of(x->w[i], s->procs) / s->load;
		for (size_t k = 0; k < x->w[i]->jobs.n; k++)
			x->w[i]->jobs.v[k].submit = (int64_t)((double)x->w[i]->jobs.v[k].submit * gaps);
		x->r.load[i] = load_of(x->w[i], s->procs);
		x->r.cell[i] = pool_alloc(x->r.repetitions * BAG_TYPES * BAG_PENDING, sizeof(struct bag_cell));
		if (!x->r.cell[i])
			return err_set(err, -ENOMEM, "no memory for the results of %s", s->name);
		found++;
	}
	if (rc == 0 && !found)
		rc = err_set(
			err, -ENOENT,
			"%s: none of the traces is there (SDSC-SP2, SDSC-BLUE, CTC-SP2; names as in the Parallel Workloads Archive)",
			o->dir);
	return rc;
}

static int heuristics_read(struct experiment *x, struct err *err)
{
	char *list = x->o->heuristics ? mem_strdup(x->o->heuristics) : NULL, *save, *name;
	int rc = x->o->base ? adapter_find(x->o->base, &x->r.base, err) : 0;

	for (int h = 0; h < ADAPTER_HEURISTICS && !list; h++)
		x->r.heuristic[h] = true;
	for (name = list ? strtok_r(list, ",", &save) : NULL; name && rc == 0; name = strtok_r(NULL, ",", &save)) {
		enum adapter_heuristic h;
		rc = adapter_find(name, &h, err);
		if (rc == 0)
			x->r.heuristic[h] = true;
	}
	x->r.heuristic[x->r.base] = true;
	free(list);
	return rc;
}

/* Lists the incomplete repetitions. Sites alternate, so that all sites progress at the same
 * rate. */
static void todo_list(struct experiment *x)
{
	for (int repetition = 0; repetition < x->r.repetitions; repetition++)
		for (int site = 0; site < BAG_SITES; site++) {
			int64_t missing = 0;
			for (int i = 0; i < BAG_TYPES * BAG_PENDING && x->r.cell[site]; i++)
				missing += is_open(x, site, repetition, i / BAG_PENDING, i % BAG_PENDING);
			if (missing && !x->o->report_only)
				vec_push(&x->todo, site * x->r.repetitions + repetition);
			x->r.missing += missing;
		}
}

static int run_all(struct experiment *x, struct err *err)
{
	struct pool_tasks tasks = {
		.work = repetition_work,
		.context = x,
		.n = (int)x->todo.n,
		.size = 1,
		.name = repetition_name,
		.steps = BAG_TYPES * BAG_PENDING,
		.workers = x->o->workers,
		.what = x->o->progress ? "simulating" : NULL,
	};
	void *done = NULL;
	int rc = tasks.n ? pool_run_tasks(&tasks, &done, err) : 0;

	pool_free(done, tasks.n, tasks.size);
	if (rc == 0 && !x->o->report_only)
		x->r.missing = 0;
	return rc;
}

int experiment_bag(const struct bag_options *o, FILE *out, struct err *err)
{
	struct experiment x = {.o = o, .out = -1, .r = {.repetitions = o->repetitions + o->more}};
	int rc = o->charts ? charts_dir(o->charts, err) : 0;

	if (rc == 0)
		rc = heuristics_read(&x, err);
	if (rc == 0)
		rc = sites_read(&x, err);
	if (rc == 0)
		rc = results_open(&x, err);
	if (rc == 0) {
		todo_list(&x);
		rc = run_all(&x, err);
	}
	if (rc == 0) {
		if (o->json)
			bag_report_json(&x.r, out);
		else
			bag_report(&x.r, o->types, out);
		if (o->charts)
			rc = bag_charts(&x.r, o->charts, err);
	}
	if (x.out >= 0)
		close(x.out);
	for (int i = 0; i < BAG_SITES; i++) {
		workload_destroy(x.w[i]);
		pool_free(x.r.cell[i], x.r.repetitions * BAG_TYPES * BAG_PENDING, sizeof(struct bag_cell));
	}
	vec_free(&x.todo);
	return rc;
}
