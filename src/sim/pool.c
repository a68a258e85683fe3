/*
 * pool.c - independent tasks in child processes.
 *
 * Tasks are started in the order of their numbers, and each started task runs to its end. So the
 * lowest task that fails is the same on any number of cores.
 */
#include "sim/pool.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"

#define WORKERS_MOST 64
#define POLL_NS 20000000
#define TASK_NONE (-1)

/* State shared by parent and children. */
struct board {
	atomic_int next;
	atomic_bool failed;
	atomic_int at[WORKERS_MOST]; /* by worker: its current task */
};

struct tally {
	_Atomic int64_t done; /* steps */
	bool ended;
	int rc; /* valid once it has ended */
	struct err err;
};

struct pool {
	const struct pool_tasks *t;
	struct board *board;
	struct tally *tally;
	char *results;
	struct progress progress;
	pid_t child[WORKERS_MOST];
	int children;
};

/* The current task of this process, for pool_step(). */
static struct {
	struct tally *tally;
	struct pool *drawn; /* the pool whose progress is drawn here; NULL: the parent draws it */
} current;

void *pool_alloc(int n, size_t size)
{
	void *p = mmap(NULL, (size_t)n * size + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void pool_free(void *results, int n, size_t size)
{
	if (results)
		munmap(results, (size_t)n * size + 1);
}

/* Returns how many cores this process may use. */
static int pool_cores(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static int64_t steps_each(const struct pool *p)
{
	return p->t->steps > 0 ? p->t->steps : 1;
}

static void draw(struct pool *p)
{
	int64_t done = 0;

	if (!p->progress.on)
		return;
	for (int i = 0; i < p->t->n; i++)
		done += atomic_load(&p->tally[i].done);
	progress_at(&p->progress, done);
}

void pool_step(int64_t done)
{
	atomic_store(&current.tally->done, done);
	if (current.drawn)
		draw(current.drawn);
}

static void fail(struct pool *p, int task, int rc)
{
	char name[200];

	if (p->t->name) {
		p->t->name(p->t->context, task, name, sizeof name);
		err_prefix(&p->tally[task].err, rc, "%s", name);
	}
	p->tally[task].rc = rc;
	p->tally[task].ended = true;
	atomic_store(&p->board->failed, true);
}

static void work_on(struct pool *p, int worker)
{
	const struct pool_tasks *t = p->t;

	while (!atomic_load(&p->board->failed)) {
		int i = atomic_fetch_add(&p->board->next, 1);
		if (i >= t->n)
			break;
		atomic_store(&p->board->at[worker], i);
		current.tally = &p->tally[i];
		int rc = t->work(t->context, i, p->results + (size_t)i * t->size, &p->tally[i].err);
		if (rc < 0)
			fail(p, i, rc);
		p->tally[i].ended = true;
		atomic_store(&p->tally[i].done, steps_each(p));
		atomic_store(&p->board->at[worker], TASK_NONE);
		if (current.drawn)
			draw(p);
	}
}

static void workers_fork(struct pool *p, int workers)
{
	pid_t parent = getpid();

	fflush(NULL); /* otherwise each child would write the buffers again */
	while (p->children < workers) {
		atomic_store(&p->board->at[p->children], TASK_NONE);
		pid_t pid = fork();
		if (pid < 0)
			break;
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() == parent)
				work_on(p, p->children);
			_exit(0);
		}
		p->child[p->children++] = pid;
	}
}

/* Waits until a child has ended; draws the progress meanwhile. */
static pid_t wait_one(struct pool *p, int *ret_status)
{
	for (;;) {
		pid_t pid = waitpid(-1, ret_status, p->progress.on ? WNOHANG : 0);
		if (pid > 0 || (pid < 0 && errno != EINTR))
			return pid;
		draw(p);
		if (pid == 0)
			nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
}

/* Fails the task of a worker that died. */
static void note_crash(struct pool *p, int worker, int status)
{
	int task = atomic_load(&p->board->at[worker]);

	if (task == TASK_NONE)
		return;
	struct err *err = &p->tally[task].err;
	if (WIFSIGNALED(status))
		err_set(err, -EFAULT, "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		err_set(err, -EFAULT, "stopped with code %d", WEXITSTATUS(status));
	fail(p, task, -EFAULT);
}

static void workers_wait(struct pool *p)
{
	int status;

	for (int running = p->children; running > 0;) {
		pid_t pid = wait_one(p, &status);
		if (pid < 0)
			break;
		for (int i = 0; i < p->children; i++)
			if (p->child[i] == pid) {
				running--;
				note_crash(p, i, status);
			}
	}
}

static int outcome(const struct pool *p, struct err *err)
{
	bool all = true;

	for (int i = 0; i < p->t->n; i++) {
		if (p->tally[i].rc < 0)
			return err_set(err, p->tally[i].rc, "%s", p->tally[i].err.text);
		all &= p->tally[i].ended;
	}
	return all ? 0 : err_set(err, -ECHILD, "the worker processes ended before their work was done");
}

static int workers_of(const struct pool_tasks *t)
{
	int workers = t->workers > 0 ? t->workers : pool_cores();

	if (workers > WORKERS_MOST)
		workers = WORKERS_MOST;
	return workers < t->n ? workers : t->n;
}

int pool_run_tasks(const struct pool_tasks *t, void **ret_results, struct err *err)
{
	struct pool p = {.t = t};
	int workers = workers_of(t), rc;

	*ret_results = NULL;
	p.board = pool_alloc(1, sizeof *p.board);
	p.tally = pool_alloc(t->n, sizeof *p.tally);
	p.results = pool_alloc(t->n, t->size);
	if (!p.board || !p.tally || !p.results) {
		rc = err_set(err, -ENOMEM, "no shared memory for %d results: %s", t->n, strerror(errno));
		goto out;
	}
	if (t->what)
		progress_begin(&p.progress, t->what, t->n * steps_each(&p));
	if (workers > 1)
		workers_fork(&p, workers);
	if (p.children == 0) { /* one worker is enough, or no process could be started */
		current.drawn = &p;
		work_on(&p, 0);
		current.drawn = NULL;
	}
	workers_wait(&p);
	progress_end(&p.progress);
	rc = outcome(&p, err);
	if (rc == 0) {
		*ret_results = p.results;
		p.results = NULL;
	}
out:
	pool_free(p.board, 1, sizeof *p.board);
	pool_free(p.tally, t->n, sizeof *p.tally);
	pool_free(p.results, t->n, t->size);
	return rc;
}

int pool_run(pool_work work, void *context, int n, size_t size, int workers, const char *what, void **ret_results,
	     struct err *err)
{
	struct pool_tasks t = {
		.work = work,
		.context = context,
		.n = n,
		.size = size,
		.workers = workers,
		.what = what,
	};

	return pool_run_tasks(&t, ret_results, err);
}
