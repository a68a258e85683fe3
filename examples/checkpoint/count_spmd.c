/*
 * count_spmd.c - a program that is run once for each processor of its job, without MPI: each rank counts by itself, and all of them make one checkpoint.
 *
 *	cc -o count_spmd count_spmd.c;  shunt submit --class spmd --processors 4 --run-time 1:00 --checkpoint-duration 60s -- ./count_spmd 1000
 *
 * Each rank gets the signal, and saves its state under a name of its own, by a rename. The one that finds everybody's there creates `done`: several may at once, which does no harm. A
 * rank that had finished before has left its result instead, and has nothing to do after a restart.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t asked, final;
static int rank, size;

static void on_periodic(int signal)
{
	(void)signal;
	asked = 1;
}

static void on_preempt(int signal)
{
	(void)signal;
	asked = final = 1;
}

static void path_make(char path[4096], const char *dir, const char *name, int of)
{
	snprintf(path, 4096, "%s/%s.%d", dir, name, of);
}

/* All of it under the name, or nothing. */
static int text_put(const char *dir, const char *name, long n, long sum)
{
	char path[4096], part[4096];
	FILE *f;
	int bad;

	path_make(path, dir, name, rank);
	path_make(part, dir, ".part", rank);
	f = fopen(part, "w");
	if (!f)
		return -1;
	fprintf(f, "%ld %ld\n", n, sum);
	bad = ferror(f);
	return fclose(f) || bad ? -1 : rename(part, path);
}

static int text_get(const char *dir, const char *name, long *n, long *sum)
{
	char path[4096];
	FILE *f;
	int bad;

	path_make(path, dir, name, rank);
	f = fopen(path, "r");
	if (!f)
		return -1;
	bad = fscanf(f, "%ld %ld", n, sum) != 2;
	fclose(f);
	return bad ? -1 : 0;
}

/* Whether each rank has saved its state or finished; then the checkpoint is complete. */
static int complete(const char *dir)
{
	char path[4096];
	FILE *f;

	for (int other = 0; other < size; other++) {
		path_make(path, dir, "state", other);
		if (access(path, F_OK) == 0)
			continue;
		path_make(path, ".", "result", other);
		if (access(path, F_OK))
			return 0;
	}
	snprintf(path, sizeof path, "%s/done", dir);
	f = fopen(path, "w");
	return f && fclose(f) == 0;
}

int main(int argc, char **argv)
{
	struct sigaction periodic = {.sa_handler = on_periodic, .sa_flags = SA_RESTART};
	struct sigaction preempt = {.sa_handler = on_preempt, .sa_flags = SA_RESTART};
	const char *from = getenv("SHUNT_RESTART"), *dir = getenv("SHUNT_CHECKPOINT_DIR");
	long most = argc > 1 ? atol(argv[1]) : 100, n = 0, sum = 0;
	char new[4096];

	rank = atoi(getenv("SHUNT_RANK"));
	size = atoi(getenv("SHUNT_SIZE"));
	snprintf(new, sizeof new, "%s/new", dir ? dir : ".");
	sigaction(SIGUSR1, &periodic, NULL);
	sigaction(SIGUSR2, &preempt, NULL);
	if (from && text_get(from, "state", &n, &sum) && text_get(".", "result", &n, &sum)) {
		fprintf(stderr, "count_spmd: the state of rank %d in %s can't be read\n", rank, from);
		return 1;
	}
	while (n < most) {
		n++;
		sum += n * (rank + 1); /* the work */
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
		if (!asked)
			continue;
		asked = final; /* the last one is tried again */
		if (text_put(new, "state", n, sum) == 0) {
			complete(new);
			if (final)
				return 0;
		}
	}
	if (text_put(".", "result", n, sum))
		return 1;
	complete(new); /* if the others wait for this one */
	return 0;
}
