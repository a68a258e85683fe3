/*
 * runs.c - child processes, one per simulation.
 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "cmd/runs.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/progress.h"

#define POLL_NS 20000000

static void *shared_alloc(size_t size)
{
	void *p = mmap(NULL, size + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

void runs_init(struct runs *r, const struct policy *const *policy, int count, int copies, const struct workload *w)
{
	r->policies = count;
	r->copies = copies;
	r->n = count * (copies + 1);
	r->jobs = (int64_t)w->jobs.n;
	r->run = shared_alloc((size_t)r->n * sizeof *r->run);
	for (int i = 0; i < r->n; i++) {
		struct run *run = &r->run[i];
		run->policy = policy[i % count];
		run->copy = i / count;
		if (run->copy == 0)
			run->outcome = shared_alloc(w->jobs.n * sizeof *run->outcome);
	}
}

void runs_fini(struct runs *r)
{
	for (int i = 0; i < r->n; i++)
		if (r->run[i].outcome)
			munmap(r->run[i].outcome, (size_t)r->jobs * sizeof *r->run[i].outcome + 1);
	munmap(r->run, (size_t)r->n * sizeof *r->run + 1);
}

int runs_cores(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* A run's progress; in this process it is also drawn. */
struct watch {
	struct run *run;
	struct progress *progress;
	int64_t before; /* jobs of earlier runs */
};

static void on_progress(void *context, int64_t done)
{
	struct watch *w = context;

	w->run->done = done;
	if (w->progress)
		progress_at(w->progress, w->before + done);
}

/* Jobs that the machine could hold, had no deadline to miss, and never started. */
static int64_t stranded_count(const struct sim_result *r)
{
	int64_t count = 0;

	for (int64_t i = 0; i < r->n; i++)
		count += r->outcome[i].start < 0 && r->outcome[i].procs > 0 && r->outcome[i].deadline == TIME_NEVER;
	return count;
}

/* Simulates, and leaves the results in `run`. */
static void run_one(struct run *run, const struct workload *w, const struct sim_options *given, uint64_t seed,
		    struct watch *watch)
{
	struct sim_options o = *given;
	struct workload shaken = *w;
	struct sim_result result;

	o.progress = on_progress;
	o.progress_context = watch;
	shaken.jobs.v = mem_alloc(w->jobs.n * sizeof *w->jobs.v + 1);
	memcpy(shaken.jobs.v, w->jobs.v, w->jobs.n * sizeof *w->jobs.v);
	if (run->copy)
		workload_shake(&shaken, SHAKE_SECONDS, seed + (uint64_t)run->copy);

	run->rc = sim_run(&shaken, run->policy, &o, &result, &run->err);
	if (run->rc == 0) {
		metrics_compute(&run->metrics, result.outcome, result.n, result.procs);
		if (run->outcome)
			memcpy(run->outcome, result.outcome, (size_t)result.n * sizeof *result.outcome);
		run->n = result.n;
		run->procs = result.procs;
		run->refused = result.refused;
		run->stranded = stranded_count(&result);
		memcpy(run->refusal, result.refusal, sizeof run->refusal);
		run->seconds = result.seconds;
		run->stats = result.stats;
		run->pushes = result.pushes;
		sim_result_fini(&result);
	}
	free(shaken.jobs.v);
	run->done = (int64_t)w->jobs.n;
	run->ended = true;
}

static pid_t run_fork(struct run *run, const struct workload *w, const struct sim_options *o, uint64_t seed)
{
	struct watch watch = {.run = run};
	pid_t parent = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	run_one(run, w, o, seed, &watch);
	_exit(0);
}

static int64_t jobs_done(const struct runs *r)
{
	int64_t done = 0;

	for (int i = 0; i < r->n; i++)
		done += r->run[i].done;
	return done;
}

/* Until one of the children has ended; draws meanwhile. */
static pid_t wait_one(const struct runs *r, struct progress *progress, int *ret_status)
{
	for (;;) {
		pid_t pid = waitpid(-1, ret_status, progress->on ? WNOHANG : 0);
		if (pid > 0 || (pid < 0 && errno != EINTR))
			return pid;
		progress_at(progress, jobs_done(r));
		if (pid == 0)
			nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
}

static void note_crash(struct run *run, int status)
{
	if (run->ended)
		return;
	run->ended = true;
	if (WIFSIGNALED(status))
		run->rc = err_set(&run->err, -EFAULT, "the simulation was ended by signal %d (%s)", WTERMSIG(status),
				  strsignal(WTERMSIG(status)));
	else
		run->rc = err_set(&run->err, -EFAULT, "the simulation stopped with code %d", WEXITSTATUS(status));
}

static void make_forked(struct runs *r, const struct workload *w, const struct sim_options *o, uint64_t seed, int cores,
			struct progress *progress)
{
	pid_t *pid = mem_zalloc((size_t)r->n * sizeof *pid);
	int begun = 0, running = 0, status;

	fflush(NULL);
	while (begun < r->n || running > 0) {
		if (begun < r->n && running < cores) {
			struct run *run = &r->run[begun];
			pid[begun] = run_fork(run, w, o, seed);
			if (pid[begun] > 0) {
				running++;
			} else { /* no process to be had: then here */
				struct watch watch = {.run = run};
				run_one(run, w, o, seed, &watch);
			}
			begun++;
			continue;
		}
		pid_t ended = wait_one(r, progress, &status);
		if (ended < 0)
			break;
		running--;
		for (int i = 0; i < begun; i++)
			if (pid[i] == ended)
				note_crash(&r->run[i], status);
	}
	free(pid);
}

int runs_make(struct runs *r, const struct workload *w, const struct sim_options *o, uint64_t seed, int cores,
	      struct err *err)
{
	struct progress progress;

	progress_begin(&progress, "simulating", r->jobs * r->n);
	if (cores > 1) {
		make_forked(r, w, o, seed, cores, &progress);
	} else {
		for (int i = 0; i < r->n; i++) {
			struct watch watch = {&r->run[i], &progress, jobs_done(r)};
			run_one(&r->run[i], w, o, seed, &watch);
		}
	}
	progress_end(&progress);
	for (int i = 0; i < r->n; i++)
		if (r->run[i].rc < 0) {
			*err = r->run[i].err;
			return err_prefix(err, r->run[i].rc, "policy %s", r->run[i].policy->name);
		}
	return 0;
}
