/*
 * bounds.c - lower bounds on what any schedule of the same jobs could achieve.
 *
 * The squashed machine is one processor as fast as all P together: a job of q processors and p
 * seconds is p*q/P seconds of work there, and may be interrupted at will. It can do whatever P
 * processors can, so its optimum is a bound:
 *
 *  - shortest remaining work first has the least mean turnaround on it;
 *  - if it never idles, at any instant it has done as much work as can be done. So the mean instant
 *    at which a unit of work is done (the mean busy time) can't be earlier. A job that runs in one
 *    piece ends half its run time after its own mean busy time, and AWF weighs jobs by exactly that
 *    work.
 *
 * Instants are counted in P-ths of a second from the first submission, so that areas are lengths
 * and nothing is rounded.
 */
#include <math.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/mem.h"
#include "sim/metrics_internal.h"

static int submit_compare(const void *a, const void *b)
{
	const struct simulated *const *x = a, *const *y = b;

	return (*x)->submit < (*y)->submit ? -1 : (*x)->submit > (*y)->submit;
}

/* Works until `until`; returns the sum of the completion times of the jobs that finished. */
static double srpt_work(struct heap *left, double *now, double until)
{
	struct heap_item top;
	double done = 0;

	while (heap_peek(left, &top) && *now + (double)top.time <= until) {
		heap_pop(left, &top);
		*now += (double)top.time;
		done += *now;
	}
	if (heap_pop(left, &top))
		heap_push(left, top.time - (int64_t)(until - *now), top.tie, top.value);
	*now = until;
	return done;
}

/* Returns the sum of turnarounds, in P-ths of a second. */
static double srpt_sum(const struct simulated *const *job, int64_t n, int64_t procs)
{
	struct heap left = {0};
	double now = 0, sum = 0;

	for (int64_t i = 0; i < n; i++) {
		double submit = (double)(job[i]->submit - job[0]->submit) * (double)procs;
		sum += srpt_work(&left, &now, submit) - submit;
		heap_push(&left, (int64_t)outcome_area(job[i]), (uint64_t)i, 0);
	}
	struct heap_item top;
	while (heap_pop(&left, &top)) {
		now += (double)top.time;
		sum += now;
	}
	heap_fini(&left);
	return sum;
}

static void busy_compute(struct bounds *b, const struct simulated *const *job, int64_t n, int64_t procs)
{
	double now = 0, area = 0, busy = 0, alone = 0, p = (double)procs;

	for (int64_t i = 0; i < n; i++) {
		double submit = (double)(job[i]->submit - job[0]->submit), run = (double)job[i]->runtime;
		double a = outcome_area(job[i]), begin = fmax(now, submit);
		now = begin + a / p;
		area += a;
		busy += a * ((begin + now) / 2 - submit + run / 2);
		alone += a * run;
		b->makespan = fmax(b->makespan, submit + run);
	}
	b->makespan = fmax(b->makespan, now);
	b->awf_busy = area > 0 ? fmax(busy, alone) / area : 0;
}

void bounds_compute(struct bounds *b, const struct simulated *o, int64_t n, int64_t procs)
{
	const struct simulated **job;

	*b = (struct bounds){0};
	if (n == 0 || procs == 0)
		return;
	job = mem_realloc(NULL, (size_t)n, sizeof *job);
	for (int64_t i = 0; i < n; i++) {
		job[i] = &o[i];
		b->turnaround_trivial += (double)o[i].runtime / (double)n;
	}
	qsort(job, (size_t)n, sizeof *job, submit_compare);
	b->turnaround_srpt = srpt_sum(job, n, procs) / (double)procs / (double)n;
	b->turnaround = fmax(b->turnaround_trivial, b->turnaround_srpt);
	busy_compute(b, job, n, procs);
	free(job);
}
