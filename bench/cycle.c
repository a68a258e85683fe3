/*
 * cycle.c - bench_cycle: measures the duration of a scheduling cycle.
 *
 *	bench_cycle PREFIX POLICY NODES CPUS WAITING KIND
 *
 * A cluster is filled with running jobs and a queue of mixed sizes; then jobs arrive one by one,
 * and each cycle is timed: submission and decision. KIND is how full it is:
 *	full	every CPU is taken
 *	loose	one CPU of each node is free, and every job needs at least two on a node
 *	push	the same, and some deadlines have reservations, which can be pushed
 * It also times a full pass (without cached results), and the cycle after a job has ended.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/vec.h"
#include "bench.h"
#include "sched/sched.h"

#define ARRIVALS 500	   /* maximum arrivals timed */
#define ARRIVALS_LEAST 200 /* arrivals timed, at least, if time is up */
#define PASSES 50
#define PASSES_LEAST 5
#define SECONDS 0.7 /* for each of the three measurements */
#define HOUR 3600

struct world {
	struct cluster *c;
	struct plan *p;
	struct sched *s;
	struct rng rng;
	int64_t now;
	int64_t least;	       /* CPUs of a fragment */
	int64_t cpus;	       /* CPUs of a node */
	VEC(uint32_t) orders;  /* START orders to be confirmed */
	VEC(uint32_t) running; /* running jobs, in the order of their starts */
};

static void on_event(void *context, const struct event *e)
{
	struct world *w = context;

	if (e->type == EVENT_START)
		vec_push(&w->orders, e->job);
}

static void cycle(struct world *w)
{
	sched_cycle(w->s, w->now);
}

static void confirm(struct world *w)
{
	for (size_t i = 0; i < w->orders.n; i++) {
		sched_started(w->s, w->orders.v[i], w->now);
		vec_push(&w->running, w->orders.v[i]);
	}
	vec_clear(&w->orders);
}

static uint32_t request(struct world *w, uint32_t nfrags, int64_t cpus)
{
	struct shape shape = {.need = {{cpus}}};
	uint32_t id = cluster_shape(w->c, &shape);
	struct frag *frags = mem_alloc(nfrags * sizeof *frags);

	for (uint32_t i = 0; i < nfrags; i++)
		frags[i] = (struct frag){id, NODE_ANY};
	id = cluster_intern(w->c, frags, nfrags);
	free(frags);
	return id;
}

static struct job *job_new(struct world *w, uint32_t req, int64_t walltime)
{
	struct job *job = cluster_add_job(w->c);

	job->request = req;
	job->walltime = walltime;
	job->user = (uint32_t)rng_below(&w->rng, 100);
	job->kind = KIND_COMMON;
	job->deadline = TIME_NEVER;
	return job;
}

/* Makes a job: up to a quarter of the nodes, mostly few; parts of nodes and whole ones; minutes
 * to a day. */
static struct job *job_mixed(struct world *w)
{
	double most = fmax(1, (double)w->p->nnodes / 4);
	uint32_t nfrags = (uint32_t)exp(rng_unit(&w->rng) * rng_unit(&w->rng) * log(most + 0.5));
	int64_t cpus = (int64_t)1 << rng_below(&w->rng, 5);
	int64_t walltime = (int64_t)(300 * exp(rng_unit(&w->rng) * log(288)));

	cpus = cpus < w->least ? w->least : cpus > w->cpus ? w->cpus : cpus;
	return job_new(w, request(w, nfrags ? nfrags : 1, cpus), walltime);
}

/* Fills every node with jobs of a third of a node that do not end soon. */
static void world_fill(struct world *w, int64_t left_free)
{
	int64_t part = (w->cpus - left_free) / 3, rest = w->cpus - left_free - 2 * part;

	for (uint32_t n = 0; n < w->p->nnodes; n++)
		for (int k = 0; k < 3; k++) {
			int64_t walltime = rng_range(&w->rng, 2 * HOUR, 26 * HOUR);
			struct job *job = job_new(w, request(w, 1, k == 2 ? rest : part), walltime);
			sched_submit(w->s, job->id, w->now);
			cycle(w);
			confirm(w);
		}
}

static void world_promise(struct world *w)
{
	for (uint32_t i = 0; i < w->p->nnodes / 50 + 1; i++) {
		struct job *job = job_new(w, request(w, 1 + (uint32_t)rng_below(&w->rng, 4), 4), HOUR);
		job->kind = KIND_QOS;
		job->deadline = w->now + rng_range(&w->rng, 6 * HOUR, 30 * HOUR);
		sched_submit(w->s, job->id, w->now);
	}
	cycle(w);
	confirm(w);
}

static void world_open(struct world *w, const char *policy, uint32_t nodes, int64_t cpus, const char *kind)
{
	bool full = strcmp(kind, "full") == 0, push = strcmp(kind, "push") == 0;
	struct res total = {.v = {cpus}};
	char name[16];

	if (!policy_find(policy))
		bench_fail("bench_cycle: %s: no such policy", policy);
	if (!full && !push && strcmp(kind, "loose") != 0)
		bench_fail("bench_cycle: %s: there is full, loose, push", kind);
	*w = (struct world){.now = 1000000, .cpus = cpus, .least = full ? 1 : 2};
	rng_seed(&w->rng, 1);
	w->c = cluster_create();
	for (uint32_t i = 0; i < nodes; i++) {
		snprintf(name, sizeof name, "n%u", i + 1);
		cluster_add_node(w->c, name, &total, NULL);
	}
	w->p = plan_create(w->c);
	w->s = sched_create(w->c, w->p, policy_find(policy));
	sched_listen(w->s, on_event, w);
	world_fill(w, full ? 0 : 1);
	if (push)
		world_promise(w);
}

static void world_fini(struct world *w)
{
	sched_destroy(w->s);
	plan_destroy(w->p);
	cluster_destroy(w->c);
	vec_free(&w->orders);
	vec_free(&w->running);
}

static void world_queue(struct world *w, int64_t waiting)
{
	for (int64_t i = 0; i < waiting; i++)
		sched_submit(w->s, job_mixed(w)->id, w->now);
	cycle(w);
	confirm(w);
}

typedef void (*step_fn)(struct world *w);

static void step_arrival(struct world *w)
{
	sched_submit(w->s, job_mixed(w)->id, w->now);
	cycle(w);
}

static void step_full(struct world *w)
{
	sched_refresh(w->s);
	cycle(w);
}

static void step_end(struct world *w)
{
	size_t i = rng_below(&w->rng, w->running.n);

	sched_finish(w->s, w->running.v[i], w->now, NULL);
	vec_remove(&w->running, i);
	cycle(w);
}

/* Times a step repeatedly, a second of virtual time apart. */
static void measure(struct world *w, const char *prefix, const char *what, step_fn step, size_t most, size_t least)
{
	double *ms = mem_alloc(most * sizeof *ms), until = bench_seconds() + SECONDS;
	char column[64];
	size_t n = 0;

	while (n < most && (n < least || bench_seconds() < until)) {
		w->now++;
		double begin = bench_seconds();
		step(w);
		ms[n++] = 1000 * (bench_seconds() - begin);
		confirm(w);
	}
	snprintf(column, sizeof column, "%s_median", what);
	bench_print(prefix, column, bench_quantile(ms, n, 0.5), 4, "ms");
	snprintf(column, sizeof column, "%s_p99", what);
	bench_print(prefix, column, bench_quantile(ms, n, 0.99), 4, "ms");
	free(ms);
}

int main(int argc, char **argv)
{
	struct world w;

	if (argc != 7)
		bench_fail("usage: bench_cycle PREFIX POLICY NODES CPUS WAITING full|loose|push");
	world_open(&w, argv[2], (uint32_t)bench_number(argv[3]), bench_number(argv[4]), argv[6]);
	world_queue(&w, bench_number(argv[5]));
	bench_print(argv[1], "waiting", (double)sched_waiting(w.s), 0, "jobs");
	measure(&w, argv[1], "arrival", step_arrival, ARRIVALS, ARRIVALS_LEAST);
	measure(&w, argv[1], "full_pass", step_full, PASSES, PASSES_LEAST);
	measure(&w, argv[1], "end", step_end, PASSES, PASSES_LEAST);
	world_fini(&w);
	return 0;
}
