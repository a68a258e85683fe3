/*
 * runs.c - makes a run; the process pool executes runs in parallel.
 */
#include "cmd/sim/runs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "sim/pool.h"

/* Context of the pool's tasks. */
struct making {
	const struct runs *runs;
	const struct policy *const *policy;
	const struct workload *w;
	const struct sim_options *o;
	uint64_t seed;
};

static void on_progress(void *context, int64_t done)
{
	pool_step(done);
}

/* Counts jobs that fit on the machine, had no deadline to miss, and never started. */
static int64_t stranded_count(const struct sim_result *r)
{
	int64_t count = 0;

	for (int64_t i = 0; i < r->n; i++)
		count += r->outcome[i].start < 0 && r->outcome[i].procs > 0 && !r->outcome[i].kept &&
			 r->outcome[i].deadline == TIME_NEVER;
	return count;
}

/* Simulates, and stores the results in a `struct run`. */
static int run_make(void *context, int task, void *ret, struct err *err)
{
	const struct making *m = context;
	const struct runs *r = m->runs;
	struct sim_options o = *m->o;
	struct workload shaken = workload_borrow(m->w);
	struct sim_result result;
	struct run *run = ret;

	run->policy = m->policy[task % r->policies];
	run->copy = task / r->policies;
	o.progress = on_progress;
	if (run->copy)
		workload_shake(&shaken, SHAKE_SECONDS, rng_seed_of(m->seed, (uint64_t)run->copy));

	int rc = sim_run(&shaken, run->policy, &o, &result, err);
	vec_free(&shaken.jobs);
	if (rc < 0)
		return rc;
	metrics_compute(&run->metrics, result.outcome, result.n, result.procs);
	if (run->copy == 0) {
		run->outcome = r->outcomes + (int64_t)task * r->jobs;
		memcpy(run->outcome, result.outcome, (size_t)result.n * sizeof *result.outcome);
	}
	run->n = result.n;
	run->procs = result.procs;
	run->refused = result.refused;
	run->unfit = result.unfit;
	run->unruled = result.unruled;
	run->stranded = stranded_count(&result);
	run->unsure = result.unsure;
	run->seconds = result.seconds;
	run->stats = result.stats;
	run->pushes = result.pushes;
	run->near = result.near;
	run->apart = result.apart;
	sim_result_fini(&result);
	return 0;
}

static void run_name(void *context, int task, char *buf, size_t size)
{
	const struct making *m = context;
	int count = m->runs->policies, copy = task / count;
	const char *policy = m->policy[task % count]->name;

	if (copy)
		snprintf(buf, size, "policy %s, shaken copy %d", policy, copy);
	else
		snprintf(buf, size, "policy %s", policy);
}

int runs_make(struct runs *r, const struct policy *const *policy, int count, int copies, const struct workload *w,
	      const struct sim_options *o, uint64_t seed, int cores, struct err *err)
{
	struct making m = {r, policy, w, o, seed};
	struct pool_tasks tasks = {
		.work = run_make,
		.context = &m,
		.n = count * (copies + 1),
		.size = sizeof(struct run),
		.name = run_name,
		.steps = (int64_t)w->jobs.n,
		.workers = cores,
		.what = "simulating",
	};
	void *results;

	*r = (struct runs){.n = tasks.n, .policies = count, .copies = copies, .jobs = (int64_t)w->jobs.n};
	r->outcomes = pool_alloc(count, w->jobs.n * sizeof *r->outcomes);
	if (!r->outcomes)
		return err_set(err, -ENOMEM, "no shared memory for the outcome of %lld jobs: %s", (long long)r->jobs,
			       strerror(errno));
	int rc = pool_run_tasks(&tasks, &results, err);
	r->run = results;
	return rc;
}

void runs_fini(struct runs *r)
{
	pool_free(r->run, r->n, sizeof *r->run);
	pool_free(r->outcomes, r->policies, (size_t)r->jobs * sizeof *r->outcomes);
	*r = (struct runs){0};
}
