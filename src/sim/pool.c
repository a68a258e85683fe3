/*
 * pool.c - independent tasks in child processes.
 */
#include "sim/pool.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/progress.h"

#define WORKERS_MOST 64
#define POLL_MS 50

/* What parent and children share. */
struct board {
	atomic_int next, done;
	atomic_int failed; /* -errno of the first task that failed */
	struct err err;
};

struct pool {
	pool_work work;
	void *context;
	int n;
	size_t size;
	struct board *board;
	char *results;
};

static void *shared(size_t size)
{
	void *p = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void work_on(struct pool *p)
{
	for (;;) {
		int i = atomic_fetch_add(&p->board->next, 1), none = 0;
		struct err err = {0};
		if (i >= p->n || atomic_load(&p->board->failed))
			return;
		int rc = p->work(p->context, i, p->results + (size_t)i * p->size, &err);
		if (rc < 0 && atomic_compare_exchange_strong(&p->board->failed, &none, rc))
			p->board->err = err;
		atomic_fetch_add(&p->board->done, 1);
	}
}

/* Waits for one child; a child that died is a failure. */
static void reap(struct pool *p, pid_t child, struct progress *progress)
{
	int status, none = 0;
	pid_t got;

	while ((got = waitpid(child, &status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
		poll(NULL, 0, POLL_MS);
		if (progress)
			progress_at(progress, atomic_load(&p->board->done));
	}
	if (got == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	if (atomic_compare_exchange_strong(&p->board->failed, &none, -ECHILD))
		err_set(&p->board->err, -ECHILD, "a worker process died before its work was done");
}

int pool_run(pool_work work, void *context, int n, size_t size, int workers, const char *what, void **ret_results,
	     struct err *err)
{
	struct pool p = {.work = work, .context = context, .n = n, .size = size};
	struct progress progress;
	pid_t child[WORKERS_MOST];
	int children = 0, rc;

	p.board = shared(sizeof *p.board);
	p.results = shared(size * (size_t)n);
	if (!p.board || !p.results) {
		rc = err_set(err, -ENOMEM, "no shared memory for %d results: %s", n, strerror(errno));
		goto out;
	}
	if (workers <= 0)
		workers = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (workers > WORKERS_MOST)
		workers = WORKERS_MOST;
	if (what)
		progress_begin(&progress, what, n);
	fflush(NULL); /* or each child would write it again */
	while (workers > 1 && children < workers) {
		pid_t pid = fork();
		if (pid == 0) {
			work_on(&p);
			_exit(0);
		}
		if (pid < 0)
			break;
		child[children++] = pid;
	}
	if (children == 0)
		work_on(&p);
	for (int i = 0; i < children; i++)
		reap(&p, child[i], what ? &progress : NULL);
	if (what)
		progress_end(&progress);
	rc = atomic_load(&p.board->failed);
	if (rc < 0)
		err_set(err, rc, "%s", p.board->err.text);
out:
	if (p.board)
		munmap(p.board, sizeof *p.board);
	if (rc < 0) {
		pool_free(p.results, n, size);
		p.results = NULL;
	}
	*ret_results = p.results;
	return rc;
}

void pool_free(void *results, int n, size_t size)
{
	if (results)
		munmap(results, n > 0 ? size * (size_t)n : 1);
}
