/*
 * metrics.c - measures of a schedule (docs/simulator.md).
 *
 * Jobs that never ran count only where deadlines are concerned. The start and run time of a
 * preempted job are those of its last attempt; the cost of the earlier ones is `work_lost`.
 */
#include "sim/metrics.h"

#include <math.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/keysort.h"
#include "base/mem.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "sim/metrics_internal.h"

#define BOUND 10.0 /* seconds; shorter run times count as this in bounded slowdowns */

/* Puts the k-th smallest value at v[k], with nothing larger before and nothing smaller after it. */
static double select_kth(double *v, int64_t n, int64_t k)
{
	int64_t low = 0, high = n - 1;

	while (low < high) {
		double pivot = v[low + (high - low) / 2];
		int64_t i = low - 1, j = high + 1;
		for (;;) {
			do
				i++;
			while (v[i] < pivot);
			do
				j--;
			while (v[j] > pivot);
			if (i >= j)
				break;
			double was = v[i];
			v[i] = v[j];
			v[j] = was;
		}
		if (k <= j)
			high = j;
		else
			low = j + 1;
	}
	return v[k];
}

/* Returns the nearest rank: the smallest value that at least `share` of all values do not
 * exceed. */
static double percentile(double *v, int64_t n, double share)
{
	int64_t rank = (int64_t)ceil(share * (double)n);

	return select_kth(v, n, rank > 0 ? rank - 1 : 0);
}

static struct spread spread_of(double *v, int64_t n)
{
	struct spread s = {0};

	if (n == 0)
		return s;
	for (int64_t i = 0; i < n; i++) {
		s.mean += v[i] / (double)n;
		s.max = fmax(s.max, v[i]);
	}
	s.median = (select_kth(v, n, (n - 1) / 2) + select_kth(v, n, n / 2)) / 2;
	s.p90 = percentile(v, n, 0.90);
	s.p99 = percentile(v, n, 0.99);
	return s;
}

static double wait_of(const struct simulated *o)
{
	return (double)(o->start - o->submit);
}

static double turnaround_of(const struct simulated *o)
{
	return (double)(o->end - o->submit);
}

static double slowdown_of(const struct simulated *o)
{
	return turnaround_of(o) / fmax((double)o->runtime, 1);
}

static double bslow_of(const struct simulated *o)
{
	return fmax(1, turnaround_of(o) / fmax((double)o->runtime, BOUND));
}

static double ppbslow_of(const struct simulated *o)
{
	return fmax(1, turnaround_of(o) / ((double)o->procs * fmax((double)o->runtime, BOUND)));
}

static struct spread spread_by(double (*value)(const struct simulated *), const struct simulated *o, int64_t n,
			       double *v)
{
	for (int64_t i = 0; i < n; i++)
		v[i] = value(&o[i]);
	return spread_of(v, n);
}

static void whole_compute(struct metrics *m, const struct simulated *o, int64_t n)
{
	int64_t begin = INT64_MAX, end = INT64_MIN;
	double area = 0, weighted = 0;

	for (int64_t i = 0; i < n; i++) {
		double a = outcome_area(&o[i]);
		area += a;
		weighted += a * turnaround_of(&o[i]);
		m->ppbslow += ppbslow_of(&o[i]) / (double)n;
		if (o[i].submit < begin)
			begin = o[i].submit;
		if (o[i].end > end)
			end = o[i].end;
	}
	m->makespan = n ? (double)(end - begin) : 0;
	m->awf = area > 0 ? weighted / area : 0;
	m->utilisation = m->makespan > 0 && m->procs > 0 ? area / ((double)m->procs * m->makespan) : 0;
}

static int size_class(int64_t procs, int64_t machine)
{
	return procs <= 1 ? 0 : procs <= machine / 32 ? 1 : procs <= machine / 4 ? 2 : 3;
}

static void sizes_compute(struct metrics *m, const struct simulated *o, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		int c = size_class(o[i].procs, m->procs);
		m->size[c].jobs++;
		m->size[c].wait += wait_of(&o[i]);
		m->size[c].bslow += bslow_of(&o[i]);
	}
	for (int c = 0; c < SIZE_CLASSES; c++)
		if (m->size[c].jobs) {
			m->size[c].wait /= (double)m->size[c].jobs;
			m->size[c].bslow /= (double)m->size[c].jobs;
		}
}

static void users_compute(struct metrics *m, const struct simulated *o, int64_t n)
{
	struct user {
		double wait;
		int64_t jobs;
	} * user;
	size_t users = 0, seen = 0;
	double sum = 0, squares = 0;

	for (int64_t i = 0; i < n; i++)
		if (o[i].user >= users)
			users = (size_t)o[i].user + 1;
	user = mem_zalloc((users + 1) * sizeof *user);
	for (int64_t i = 0; i < n; i++) {
		user[o[i].user].wait += wait_of(&o[i]);
		user[o[i].user].jobs++;
	}
	for (size_t u = 0; u < users; u++) {
		if (!user[u].jobs)
			continue;
		double mean = user[u].wait / (double)user[u].jobs;
		seen++;
		sum += mean;
		squares += mean * mean;
		m->user_wait_worst = fmax(m->user_wait_worst, mean);
	}
	m->user_wait_jain = squares > 0 ? sum * sum / ((double)seen * squares) : 1;
	free(user);
}

static void promises_compute(struct metrics *m, const struct simulated *o, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		bool ran = o[i].start >= 0, due = o[i].deadline != TIME_NEVER;
		bool met = ran && due && o[i].end - o[i].over <= o[i].deadline;
		m->deadlines += due;
		m->deadlines_met += met;
		m->expired += due && !ran;
		m->guaranteed += o[i].guaranteed;
		m->guarantees_broken += o[i].broken;
		m->broken_by_power += o[i].broken_by_power;
		m->emergency += o[i].kind == KIND_EMERGENCY;
		m->emergency_met += o[i].kind == KIND_EMERGENCY && met;
		m->preempted += o[i].preemptions;
		m->work_lost += o[i].lost * o[i].procs;
	}
}

enum step { SUBMITS, STARTS, ENDS, STEPS };

/* Integrates the idle processors over the times when some queued job would fit into them. The
 * queue is a heap by size; started jobs are removed only when they reach its top. */
static void loss_compute(struct metrics *m, const struct simulated *o, int64_t n)
{
	/* job * STEPS + step */
	struct keyed *event = mem_realloc(NULL, (size_t)n * STEPS + 1, sizeof *event);
	struct heap queue = {0};
	struct heap_item top;
	int64_t idle = m->procs, since = 0;
	uint32_t events = 0;
	double lost = 0;

	for (int64_t i = 0; i < n; i++) {
		int64_t at[STEPS] = {[SUBMITS] = o[i].submit, [STARTS] = o[i].start, [ENDS] = o[i].end};
		for (int step = 0; step < STEPS && !o[i].share; step++, events++)
			event[events] = (struct keyed){(double)at[step], events, (uint32_t)i * STEPS + (uint32_t)step};
	}
	keyed_sort(event, events);
	for (uint32_t k = 0; k < events; k++) {
		uint64_t job = event[k].at / STEPS;
		enum step step = event[k].at % STEPS;
		const struct simulated *j = &o[job];
		int64_t now = (int64_t)event[k].key;
		while (now > since && heap_peek(&queue, &top) && o[top.value].start <= since)
			heap_pop(&queue, &top);
		if (now > since && heap_peek(&queue, &top) && top.time <= idle)
			lost += (double)idle * (double)(now - since);
		since = now;
		if (step == SUBMITS)
			heap_push(&queue, j->procs, job, job);
		else
			idle += step == ENDS ? j->procs : -j->procs;
	}
	m->loss_of_capacity = m->makespan > 0 && m->procs > 0 ? lost / ((double)m->procs * m->makespan) : 0;
	heap_fini(&queue);
	free(event);
}

void metrics_compute(struct metrics *m, const struct simulated *o, int64_t n, int64_t procs)
{
	VEC(struct simulated) ran = {0};
	double *v = mem_realloc(NULL, (size_t)n + 1, sizeof *v);

	*m = (struct metrics){.procs = procs};
	promises_compute(m, o, n);
	vec_reserve(&ran, (size_t)n);
	for (int64_t i = 0; i < n; i++)
		if (o[i].start >= 0)
			vec_push(&ran, o[i]);
	n = m->jobs = (int64_t)ran.n;
	o = ran.v;

	m->wait = spread_by(wait_of, o, n, v);
	m->turnaround = spread_by(turnaround_of, o, n, v);
	m->slowdown = spread_by(slowdown_of, o, n, v);
	m->bslow = spread_by(bslow_of, o, n, v);
	whole_compute(m, o, n);
	sizes_compute(m, o, n);
	users_compute(m, o, n);
	loss_compute(m, o, n);
	bounds_compute(&m->bound, o, n, procs);
	vec_free(&ran);
	free(v);
}
