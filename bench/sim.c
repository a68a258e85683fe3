/*
 * sim.c - bench_sim: runs one policy on one workload in a process of its own, so that its peak
 * memory is that of the run.
 *
 *	bench_sim PREFIX POLICY (TRACE | lublin:JOBS) [machine=M] [procs=N] [load=PERCENT]
 *		  [slack=N] [skip=JOBS] [limit=JOBS] [push=DEPTH] [starve=SECONDS]
 *		  [pace=WORK] [depth=JOBS] [runs=N] [show=speed|growth|push]
 *
 * Only the simulation is timed: the best of `runs`, or of fewer if one takes long. Bytes per job
 * are the memory that the simulation adds after reading: its own tables and the outcomes, not the
 * workload. show=growth prints processor time and a digest of all events, which is equal for two
 * builds if every job has the same history in both.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/map.h"
#include "bench.h"
#include "sim/sim.h"

#define ENOUGH 4.0 /* seconds after which no further run is started */

struct args {
	const char *prefix, *policy, *workload, *machine, *show;
	int64_t skip, limit, push, runs, pace, depth;
	int64_t procs;	/* processors that lublin's jobs are made for */
	int64_t load;	/* their demand, percent of those processors */
	int64_t slack;	/* their walltimes are up to this many times the run times */
	int64_t starve; /* -1: the default */
};

static void args_parse(struct args *a, int argc, char **argv)
{
	*a = (struct args){.push = -1, .starve = -1, .runs = 3, .procs = 256, .load = 80, .slack = 1, .show = "speed"};
	if (argc < 4)
		bench_fail(
			"usage: bench_sim PREFIX POLICY (TRACE | lublin:JOBS) [machine=M] [procs=N] [load=PERCENT] "
			"[slack=N] [skip=N] [limit=N] [push=D] [starve=S] [pace=W] [depth=N] [runs=N] [show=speed|growth|push]");
	a->prefix = argv[1];
	a->policy = argv[2];
	a->workload = argv[3];
	for (int i = 4; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (!value)
			bench_fail("bench_sim: %s: write NAME=VALUE", argv[i]);
		*value++ = '\0';
		if (strcmp(argv[i], "machine") == 0)
			a->machine = value;
		else if (strcmp(argv[i], "show") == 0)
			a->show = value;
		else if (strcmp(argv[i], "procs") == 0)
			a->procs = bench_number(value);
		else if (strcmp(argv[i], "load") == 0)
			a->load = bench_number(value);
		else if (strcmp(argv[i], "slack") == 0)
			a->slack = bench_number(value);
		else if (strcmp(argv[i], "pace") == 0)
			a->pace = bench_number(value);
		else if (strcmp(argv[i], "depth") == 0)
			a->depth = bench_number(value);
		else if (strcmp(argv[i], "skip") == 0)
			a->skip = bench_number(value);
		else if (strcmp(argv[i], "starve") == 0)
			a->starve = bench_number(value);
		else if (strcmp(argv[i], "limit") == 0)
			a->limit = bench_number(value);
		else if (strcmp(argv[i], "push") == 0)
			a->push = bench_number(value);
		else if (strcmp(argv[i], "runs") == 0)
			a->runs = bench_number(value);
		else
			bench_fail(
				"bench_sim: %s: there is machine, procs, load, slack, skip, limit, push, starve, pace, depth, runs, show",
				argv[i]);
	}
}

/* Stretches time so that the jobs ask for the given load of the machine. */
static struct workload *lublin_at_load(const struct args *a, int64_t jobs)
{
	struct workload *w = generate_lublin(a->procs, jobs, 1);
	double area = 0;

	for (size_t i = 0; i < w->jobs.n; i++)
		area += (double)w->jobs.v[i].runtime * w->jobs.v[i].procs;

	int64_t first = w->jobs.v[0].submit;
	double load = area / (double)a->procs / (double)(w->jobs.v[w->jobs.n - 1].submit - first + 1);

	for (size_t i = 0; i < w->jobs.n; i++) {
		struct wjob *j = &w->jobs.v[i];
		double factor = (double)(i * UINT64_C(2654435761) % 1000) / 1000 * (double)(a->slack - 1);
		j->walltime = j->runtime + (int64_t)((double)j->runtime * factor);
		j->submit = (int64_t)((double)(j->submit - first) * load * 100 / (double)a->load);
	}
	return w;
}

static struct workload *workload_get(const struct args *a)
{
	struct workload *w;
	struct err err;

	if (strncmp(a->workload, "lublin:", 7) == 0)
		return lublin_at_load(a, bench_number(a->workload + 7));
	if (workload_read(a->workload, RULES_SC15, a->limit ? a->skip + a->limit : 0, &w, &err) < 0)
		bench_fail("bench_sim: %s: %s", a->workload, err.text);
	if ((size_t)a->skip >= w->jobs.n)
		bench_fail("bench_sim: %s: skip=%lld leaves no job", a->workload, (long long)a->skip);
	w->jobs.n -= (size_t)a->skip;
	memmove(w->jobs.v, w->jobs.v + a->skip, w->jobs.n * sizeof *w->jobs.v);
	return w;
}

/* Returns a line of /proc/self/status in bytes; 0 if there is none. */
static double status_bytes(const char *key)
{
	FILE *in = fopen("/proc/self/status", "r");
	char line[256];
	long long kib = 0;

	while (in && fgets(line, sizeof line, in))
		if (strncmp(line, key, strlen(key)) == 0)
			kib = atoll(line + strlen(key) + 1);
	if (in)
		fclose(in);
	return 1024.0 * (double)kib;
}

/* Makes the kernel count the peak from here on. */
static void peak_reset(void)
{
	FILE *out = fopen("/proc/self/clear_refs", "w");

	malloc_trim(0);
	if (out) {
		fputs("5", out);
		fclose(out);
	}
}

static double peak_mib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_maxrss / 1024;
}

static double processor_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Adds an event, with the nodes it names, to the digest at `context`. The order of the events does
 * not matter. */
static void digest_event(void *context, const struct event *e)
{
	int64_t of[] = {e->type, e->job, e->time, e->at, e->by, e->nnodes, 0};

	if (e->nnodes)
		of[6] = (int64_t)hash_bytes(e->nodes, e->nnodes * sizeof *e->nodes);
	*(uint64_t *)context += hash_bytes(of, sizeof of);
}

static void show_growth(const struct args *a, int64_t jobs, double best, double mib, uint64_t digest)
{
	bench_print(a->prefix, "jobs", (double)jobs, 0, "jobs");
	bench_print(a->prefix, "cpu", best, 3, "s");
	bench_print(a->prefix, "peak", mib, 1, "MiB");
	bench_print(a->prefix, "digest", (double)(digest >> 16), 0, "");
}

static void show_speed(const struct args *a, int64_t jobs, double best, double read, double mib, double bytes)
{
	bench_print(a->prefix, "jobs", (double)jobs, 0, "jobs");
	bench_print(a->prefix, "time", best, 3, "s");
	bench_print(a->prefix, "speed", (double)jobs / best, 0, "jobs/s");
	bench_print(a->prefix, "speed_with_reading", (double)jobs / (best + read), 0, "jobs/s");
	bench_print(a->prefix, "peak", mib, 1, "MiB");
	bench_print(a->prefix, "added", bytes / (double)jobs, 0, "bytes/job");
}

static void show_push(const struct args *a, const struct sim_result *r, double best)
{
	struct metrics m;

	metrics_compute(&m, r->outcome, r->n, r->procs);
	bench_print(a->prefix, "jobs", (double)m.jobs, 0, "jobs");
	bench_print(a->prefix, "rescued", (double)r->stats.rescued, 0, "jobs");
	bench_print(a->prefix, "pushed", (double)r->pushes, 0, "fragments");
	bench_print(a->prefix, "blocked", (double)r->stats.blocked, 0, "attempts");
	bench_print(a->prefix, "mean_wait", m.wait.mean, 1, "s");
	bench_print(a->prefix, "awf", m.awf, 1, "s");
	bench_print(a->prefix, "max_wait", m.wait.max, 0, "s");
	bench_print(a->prefix, "utilisation", 100 * m.utilisation, 2, "%");
	bench_print(a->prefix, "time", best, 2, "s");
}

int main(int argc, char **argv)
{
	double best = 0, fewest = 0, total = 0, mib = 0, begin = bench_seconds();
	uint64_t digest = 0;
	struct sim_options o;
	struct sim_result r;
	struct args a;
	struct err err;
	char machine[64];

	args_parse(&a, argc, argv);

	const struct policy *policy = policy_find(a.policy);
	struct workload *w = workload_get(&a);
	double read = bench_seconds() - begin, added = 0;

	if (!policy)
		bench_fail("bench_sim: %s: no such policy", a.policy);
	snprintf(machine, sizeof machine, "flat:%lld", (long long)(w->procs ? w->procs : a.procs));
	sim_options_init(&o);
	o.machine = a.machine ? a.machine : machine;
	o.push_depth = (int)a.push;
	o.pace = (uint64_t)a.pace;
	o.settings.reserve_depth = a.depth;
	if (strcmp(a.show, "growth") == 0) {
		o.listener = digest_event;
		o.listener_context = &digest;
	}
	if (a.starve >= 0)
		o.settings.starve_after = a.starve;
	for (int64_t i = 0; i < a.runs && (i == 0 || total < ENOUGH); i++) {
		double before, used;
		peak_reset();
		digest = 0;
		before = status_bytes("VmRSS:");
		if (i)
			sim_result_fini(&r);
		used = processor_seconds();
		if (sim_run(w, policy, &o, &r, &err) < 0)
			bench_fail("bench_sim: %s", err.text);
		/* later runs begin with memory that the first left in the allocator */
		if (i == 0) {
			added = status_bytes("VmHWM:") - before;
			mib = peak_mib();
		}
		total += r.seconds;
		if (i == 0 || r.seconds < best)
			best = r.seconds;
		used = processor_seconds() - used;
		if (i == 0 || used < fewest)
			fewest = used;
	}
	if (strcmp(a.show, "push") == 0)
		show_push(&a, &r, best);
	else if (strcmp(a.show, "growth") == 0)
		show_growth(&a, r.n - r.refused, fewest, mib, digest);
	else
		show_speed(&a, r.n - r.refused, best, read, mib, added);
	sim_result_fini(&r);
	workload_destroy(w);
	return 0;
}
