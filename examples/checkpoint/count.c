/*
 * count.c - a program that saves its work: it counts, a step at a time, and continues where it was when it is run again.
 *
 *	cc -o count count.c;  echo './count 1000 "$@"' | qsub -c enabled
 *
 * The handlers only take a note: what is saved must be consistent, so it is saved between two steps. Standard output is part of what is saved: lines that were printed after the last
 * checkpoint would be printed again, so it remembers how far the output was and cuts it there.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t asked, final;

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

static FILE *open_in(const char *dir, const char *name, const char *mode)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return fopen(path, mode);
}

/* 0 when all of it is there. `done` comes last: without it nothing of this counts. */
static int save(long n)
{
	char dir[4096];
	FILE *f;
	int bad;

	snprintf(dir, sizeof dir, "%s/new", getenv("SHUNT_CHECKPOINT_DIR"));
	f = open_in(dir, "state", "w");
	if (!f) /* a signal too many: nobody waits for a checkpoint */
		return -1;
	fflush(stdout);
	fprintf(f, "%ld %lld\n", n, (long long)lseek(STDOUT_FILENO, 0, SEEK_CUR));
	bad = ferror(f);
	if (fclose(f) || bad || !(f = open_in(dir, "done", "w")))
		return -1;
	return fclose(f);
}

static long restore(const char *dir)
{
	FILE *f = open_in(dir, "state", "r");
	long long written = -1;
	long n = 0;

	if (!f || fscanf(f, "%ld %lld", &n, &written) != 2) {
		fprintf(stderr, "count: %s can't be read\n", dir);
		exit(1);
	}
	fclose(f);
	/* The output of a new job (submit --restart) is another file, which is shorter. */
	if (written >= 0 && lseek(STDOUT_FILENO, 0, SEEK_END) >= written && ftruncate(STDOUT_FILENO, written) == 0)
		lseek(STDOUT_FILENO, written, SEEK_SET);
	return n;
}

int main(int argc, char **argv)
{
	long most = argc > 1 ? atol(argv[1]) : 100, n = 0;
	struct sigaction periodic = {.sa_handler = on_periodic, .sa_flags = SA_RESTART};
	struct sigaction preempt = {.sa_handler = on_preempt, .sa_flags = SA_RESTART};

	if (getenv("SHUNT_RESTART"))
		n = restore(getenv("SHUNT_RESTART"));
	sigaction(SIGUSR1, &periodic, NULL);
	sigaction(SIGUSR2, &preempt, NULL);
	while (n < most) {
		printf("step %ld\n", ++n); /* the work */
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
		if (!asked)
			continue;
		asked = final; /* the last one is tried again */
		if (save(n) == 0 && final)
			return 0;
	}
	printf("counted to %ld\n", n);
	return 0;
}
