/*
 * policy.c - bench_policy: compares policies with easy on one trace, as ratios (below 1 is better).
 *
 *	bench_policy PREFIX TRACE COPIES [CORES]
 *
 * `shunt` runs on the trace as recorded and on copies with every submission moved by up to 300 s
 * (seeds 1, 2, ...); the published orders only on the trace as recorded. Like `shunt simulate
 * --rules sc15 --shake COPIES`, but with each run done once.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "sim/pool.h"
#include "sim/sim.h"

#define SHAKE 300 /* seconds */

static const char *const orders[] = {"easy-sjbf", "easy++", "conservative", "shortest", "smallest-area",
				     "f1",	  "f2",	    "f3",	    "f4",	"wfp3"};
#define ORDERS ((int)(sizeof orders / sizeof *orders))
#define SLOW_ABOVE 300000 /* jobs above which conservative would take minutes */

enum { MEASURES = 4 };
static const char *const measures[MEASURES] = {"turnaround", "bslow", "awf", "max_wait"};

struct cell {
	double value[MEASURES];
};

struct context {
	const struct workload *w;
	char machine[64];
	int copies;
};

/* Returns the policy of a task: easy and shunt on copy 0 (as recorded), 1, ...; then the orders. */
static const char *task_policy(const struct context *c, int task)
{
	int pairs = 2 * (c->copies + 1);

	return task >= pairs ? orders[task - pairs] : task % 2 ? "shunt" : "easy";
}

static bool left_out(const struct context *c, const char *policy)
{
	return strcmp(policy, "conservative") == 0 && c->w->jobs.n > SLOW_ABOVE;
}

static int work(void *context, int task, void *ret, struct err *err)
{
	const struct context *c = context;
	const char *policy = task_policy(c, task);
	int copy = task < 2 * (c->copies + 1) ? task / 2 : 0, rc;
	struct workload w = *c->w; /* only its jobs are copied, the rest is borrowed */
	struct cell *cell = ret;
	struct sim_options o;
	struct sim_result r;
	struct metrics m;

	if (left_out(c, policy))
		return 0;
	w.jobs.v = mem_realloc(NULL, w.jobs.n + 1, sizeof *w.jobs.v);
	memcpy(w.jobs.v, c->w->jobs.v, w.jobs.n * sizeof *w.jobs.v);
	w.jobs.cap = w.jobs.n + 1;
	if (copy)
		workload_shake(&w, SHAKE, (uint64_t)copy);
	sim_options_init(&o);
	o.machine = c->machine;
	rc = sim_run(&w, policy_find(policy), &o, &r, err);
	vec_free(&w.jobs);
	if (rc < 0)
		return rc;
	metrics_compute(&m, r.outcome, r.n, r.procs);
	*cell = (struct cell){{m.turnaround.mean, m.bslow.mean, m.awf, m.wait.max}};
	sim_result_fini(&r);
	return 0;
}

static double ratio(const struct cell *of, const struct cell *to, int m)
{
	return of->value[m] == to->value[m] ? 1 : of->value[m] / to->value[m];
}

static void print_recorded(const char *prefix, const char *policy, const struct cell *of, const struct cell *easy)
{
	char path[256];
	bool all = true;

	snprintf(path, sizeof path, "%s/%s", prefix, policy);
	for (int m = 0; m < MEASURES; m++) {
		bench_print(path, measures[m], ratio(of, easy, m), 3, "x");
		all &= ratio(of, easy, m) < 1;
	}
	bench_print(path, "better_in", all, 0, "of_1");
}

/* Prints the mean and the worst over the copies, and the number of copies in which each measure,
 * and all of them, are better. */
static void print_copies(const char *prefix, const struct cell *cells, int copies)
{
	char mean[256], worst[256], better[256];
	int all = 0;

	snprintf(mean, sizeof mean, "%s/shunt-copies-mean", prefix);
	snprintf(worst, sizeof worst, "%s/shunt-copies-worst", prefix);
	snprintf(better, sizeof better, "%s/shunt-copies-better", prefix);
	for (int m = 0; m < MEASURES; m++) {
		double sum = 0, most = 0;
		int n = 0;
		for (int k = 1; k <= copies; k++) {
			double x = ratio(&cells[2 * k + 1], &cells[2 * k], m);
			sum += x;
			most = fmax(most, x);
			n += x < 1;
		}
		bench_print(mean, measures[m], sum / copies, 3, "x");
		bench_print(worst, measures[m], most, 3, "x");
		bench_print(better, measures[m], n, 0, "copies");
	}
	for (int k = 1; k <= copies; k++) {
		bool every = true;
		for (int m = 0; m < MEASURES; m++)
			every &= ratio(&cells[2 * k + 1], &cells[2 * k], m) < 1;
		all += every;
	}
	bench_print(better, "better_in", all, 0, "copies");
}

int main(int argc, char **argv)
{
	struct context c = {0};
	struct workload *w;
	struct err err;
	void *results;

	if (argc < 4)
		bench_fail("usage: bench_policy PREFIX TRACE COPIES [CORES]");
	if (workload_read(argv[2], RULES_SC15, 0, &w, &err) < 0)
		bench_fail("bench_policy: %s: %s", argv[2], err.text);
	c.w = w;
	c.copies = (int)bench_number(argv[3]);
	snprintf(c.machine, sizeof c.machine, "flat:%lld", (long long)w->procs);

	int tasks = 2 * (c.copies + 1) + ORDERS;

	if (pool_run(work, &c, tasks, sizeof(struct cell), argc > 4 ? (int)bench_number(argv[4]) : 0, NULL, &results,
		     &err) < 0)
		bench_fail("bench_policy: %s", err.text);

	const struct cell *cells = results;

	print_recorded(argv[1], "shunt", &cells[1], &cells[0]);
	if (c.copies)
		print_copies(argv[1], cells, c.copies);
	for (int i = 0; i < ORDERS; i++)
		if (!left_out(&c, orders[i]))
			print_recorded(argv[1], orders[i], &cells[2 * (c.copies + 1) + i], &cells[0]);
	pool_free(results, tasks, sizeof(struct cell));
	workload_destroy(w);
	return 0;
}
