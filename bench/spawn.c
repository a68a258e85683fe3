/*
 * spawn.c - runs commands and times them, cheaply enough not to measure itself.
 *
 *	bench_spawn rate N WORKERS COMMAND...
 *		N runs by WORKERS workers, one after the other in each: "per_s p50_ms p99_ms failed"
 *	bench_spawn start N FIFO COMMAND...
 *		N runs; time from each to the message that its job sends through FIFO:
 *		"p50_ms p99_ms failed"
 *	bench_spawn stamp FIFO
 *		sends that message: the current bench_seconds()
 *
 * A command's output goes to /dev/null.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define WORD_MS 10000 /* ms that a job may take to start */

extern char **environ;

/* Shared by the workers. */
struct counters {
	long next, failed;
};

/* Runs a command; returns true if it succeeded. */
static bool run(char **command)
{
	posix_spawn_file_actions_t quiet;
	pid_t pid;
	int status, rc;

	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	rc = posix_spawnp(&pid, command[0], &quiet, NULL, command, environ);
	posix_spawn_file_actions_destroy(&quiet);
	if (rc)
		bench_fail("%s: %s", command[0], strerror(rc));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0;
}

static void *shared(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		bench_fail("no memory");
	return p;
}

static void work(struct counters *c, double *took, long n, char **command)
{
	long k;

	while ((k = __sync_fetch_and_add(&c->next, 1)) < n) {
		double begin = bench_seconds();
		if (!run(command))
			__sync_fetch_and_add(&c->failed, 1);
		took[k] = bench_seconds() - begin;
	}
}

static void rate(long n, long workers, char **command)
{
	struct counters *c = shared(sizeof *c);
	double *took = shared((size_t)n * sizeof *took), begin = bench_seconds(), all;

	for (long i = 0; i < workers; i++)
		if (fork() == 0) {
			work(c, took, n, command);
			_exit(0);
		}
	while (wait(NULL) > 0 || errno == EINTR)
		;
	all = bench_seconds() - begin;
	printf("%.1f %.3f %.3f %ld\n", (double)n / all, 1e3 * bench_quantile(took, (size_t)n, 0.5),
	       1e3 * bench_quantile(took, (size_t)n, 0.99), c->failed);
}

/* Reads the time at which the job began; < 0: it did not. */
static double word_read(int fifo)
{
	struct pollfd p = {.fd = fifo, .events = POLLIN};
	double when;

	if (poll(&p, 1, WORD_MS) <= 0 || read(fifo, &when, sizeof when) != sizeof when)
		return -1;
	return when;
}

static void start(long n, const char *path, char **command)
{
	/* Also for writing, so that reading never sees EOF. */
	int fifo = open(path, O_RDWR | O_CLOEXEC);
	double *took = shared((size_t)n * sizeof *took);
	long failed = 0;

	if (fifo < 0)
		bench_fail("%s: %s", path, strerror(errno));
	for (long i = 0; i < n; i++) {
		double begin = bench_seconds(), when;
		bool good = run(command);
		when = word_read(fifo);
		if (!good || when < 0)
			failed++;
		took[i] = when - begin;
		usleep(20000); /* lets the job end, so that the machine is idle again */
	}
	printf("%.3f %.3f %ld\n", 1e3 * bench_quantile(took, (size_t)n, 0.5),
	       1e3 * bench_quantile(took, (size_t)n, 0.99), failed);
}

static void stamp(const char *path)
{
	double now = bench_seconds();
	int fifo = open(path, O_WRONLY | O_CLOEXEC);

	if (fifo < 0 || write(fifo, &now, sizeof now) != sizeof now)
		bench_fail("%s: %s", path, strerror(errno));
}

int main(int argc, char **argv)
{
	if (argc > 4 && strcmp(argv[1], "rate") == 0)
		rate(bench_number(argv[2]), bench_number(argv[3]), argv + 4);
	else if (argc > 4 && strcmp(argv[1], "start") == 0)
		start(bench_number(argv[2]), argv[3], argv + 4);
	else if (argc == 3 && strcmp(argv[1], "stamp") == 0)
		stamp(argv[2]);
	else
		bench_fail("usage: bench_spawn rate N WORKERS COMMAND... | start N FIFO COMMAND... | stamp FIFO");
	return 0;
}
