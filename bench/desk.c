/*
 * desk.c - simulates an owner at a workstation, like schbench: a thread wakes workers, which
 * compute for a moment and wait again. The time from a worker's wake-up call to the end of its
 * computation is what a person would notice. Prints "p50 US", "p99 US" and "cpu SECONDS". usage:
 * bench_desk SECONDS [WORKERS] [THOUGHT_US] [PAUSE_US]
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MOST 1000000

struct worker {
	pthread_t thread;
	sem_t call;
	volatile double called; /* time of the wake-up call; 0: end */
	int thought;		/* microseconds of work */
	double *took;
	int n;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Uses the given processor time: the amount of work does not depend on what else runs. */
static void think(int us)
{
	struct timespec t;
	double end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = (double)t.tv_sec + (double)t.tv_nsec / 1e9 + us / 1e6;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < end);
}

static void *work(void *argument)
{
	struct worker *w = argument;

	for (;;) {
		while (sem_wait(&w->call))
			;
		if (w->called == 0)
			return NULL;
		think(w->thought);
		if (w->n < MOST)
			w->took[w->n++] = now() - w->called;
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 10, end = now() + seconds;
	int workers = argc > 2 ? atoi(argv[2]) : 1, thought = argc > 3 ? atoi(argv[3]) : 1000,
	    pause_us = argc > 4 ? atoi(argv[4]) : 4000;
	struct worker *w = calloc((size_t)workers, sizeof *w);
	double *all = malloc(sizeof *all * MOST);
	struct rusage used;
	int n = 0;

	for (int i = 0; i < workers; i++) {
		w[i].thought = thought;
		w[i].took = malloc(sizeof *w[i].took * MOST);
		sem_init(&w[i].call, 0, 0);
		pthread_create(&w[i].thread, NULL, work, &w[i]);
	}
	while (now() < end) {
		for (int i = 0; i < workers; i++) {
			w[i].called = now();
			sem_post(&w[i].call);
		}
		usleep((useconds_t)pause_us);
	}
	for (int i = 0; i < workers; i++) {
		w[i].called = 0;
		sem_post(&w[i].call);
		pthread_join(w[i].thread, NULL);
		for (int k = 0; k < w[i].n && n < MOST; k++)
			all[n++] = w[i].took[k];
	}
	qsort(all, (size_t)n, sizeof *all, by_value);
	getrusage(RUSAGE_SELF, &used);
	if (n)
		printf("p50 %.0f\np99 %.0f\n", all[n / 2] * 1e6, all[(size_t)n * 99 / 100] * 1e6);
	printf("cpu %.3f\n", (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
				     (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
	return n ? 0 : 1;
}
