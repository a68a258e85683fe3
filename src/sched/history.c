/*
 * history.c - predictions for waiting jobs from finished ones.
 */
#include <math.h>

#include "sched/sched_internal.h"

void history_fini(struct history *h)
{
	map_fini(&h->last);
	vec_free(&h->pairs);
}

static const struct last_two *history_find(const struct history *h, uint64_t key)
{
	uint64_t i;

	return map_get(&h->last, key, &i) ? &h->pairs.v[i] : NULL;
}

static void history_note(struct history *h, uint64_t key, double runtime)
{
	uint64_t i;

	if (!map_get(&h->last, key, &i)) {
		i = h->pairs.n;
		map_set(&h->last, key, i);
		vec_push(&h->pairs, (struct last_two){0});
	}

	struct last_two *l = &h->pairs.v[i];

	l->run[l->n++ % 2] = runtime;
}

double history_predict(const struct sched *s, const struct job *job)
{
	const struct last_two *l = history_find(&s->history, job->user);
	double mean;

	if (!l || l->n < 2)
		return (double)job->walltime;
	mean = fmax(1, floor((l->run[0] + l->run[1]) / 2));
	return fmin(mean, (double)job->walltime);
}

/* Keys of the histories that a job belongs to, closest first: (user, CPUs, walltime), (user,
 * walltime), user. */
#define KINDRED 3

static void kindred_keys(const struct sched *s, const struct job *job, uint64_t keys[KINDRED])
{
	uint64_t user = job->user, wall = (uint64_t)job->walltime,
		 cpus = (uint64_t)cluster_job_request(s->c, job)->total.v[RES_CPU];
	uint64_t all[4] = {1, user, wall, cpus};

	keys[0] = hash_bytes(all, sizeof all);
	all[0] = 2;
	all[3] = 0;
	keys[1] = hash_bytes(all, sizeof all);
	all[0] = 3;
	all[2] = 0;
	keys[2] = hash_bytes(all, sizeof all);
}

/* Returns the geometric mean of the walltime and the mean of the last two runs in the closest
 * history. */
double history_predict_mixed(const struct sched *s, const struct job *job)
{
	double wall = (double)job->walltime, mean = wall;
	uint64_t keys[KINDRED];

	kindred_keys(s, job, keys);
	for (int i = 0; i < KINDRED; i++) {
		const struct last_two *l = history_find(&s->history, keys[i]);
		if (!l)
			continue;
		mean = l->n > 1 ? (l->run[0] + l->run[1]) / 2 : l->run[0];
		break;
	}
	return fmax(1, fmin(wall, sqrt(mean * wall)));
}

static int area_bin(double area)
{
	int bin = (int)(8 * log2(fmax(1, area)));

	return bin < AREA_BINS ? bin : AREA_BINS - 1;
}

bool history_is_small(const struct history *h, double area)
{
	return area_bin(area) <= h->small_bin;
}

static double cpus_of(const struct sched *s, const struct job *job)
{
	return (double)cluster_job_request(s->c, job)->total.v[RES_CPU];
}

void history_wait(struct sched *s, const struct job *job, double pred)
{
	s->history.queued_pred += pred * cpus_of(s, job);
}

void history_unwait(struct sched *s, const struct job *job, double pred)
{
	s->history.queued_pred -= pred * cpus_of(s, job);
	map_set(&s->due.pred, job->id, (uint64_t)pred);
}

void history_start(struct sched *s, const struct job *job)
{
	s->history.longest_wait = fmax(s->history.longest_wait, (double)(job->start - job->submit));
}

/* Keeps small_bin at the bin where cumulative finished work reaches `share` of the total: the
 * bins below it hold less. */
static void history_area(struct history *h, double work, double share)
{
	int bin = area_bin(work);

	h->work_in[bin] += work;
	if (bin < h->small_bin)
		h->work_below += work;
	while (h->small_bin < AREA_BINS - 1 && h->work_below + h->work_in[h->small_bin] < share * h->work)
		h->work_below += h->work_in[h->small_bin++];
	while (h->small_bin > 0 && h->work_below >= share * h->work)
		h->work_below -= h->work_in[--h->small_bin];
}

void history_finish(struct sched *s, const struct job *job)
{
	struct history *h = &s->history;
	double run = (double)(s->now - job->start);

	if (s->policy->know == KNOW_PREDICTION)
		history_note(h, job->user, run);
	if (!s->due.dates)
		return;

	double cpus = cpus_of(s, job), work = run * cpus;
	uint64_t keys[KINDRED], pred = 0;

	map_get(&s->due.pred, job->id, &pred);
	map_remove(&s->due.pred, job->id);
	h->finished++;
	h->work += work;
	h->work_length += run * work;
	if (4 * cpus > machine_cpus(s))
		h->work_wide += work;
	h->work_pred += (double)pred * cpus;
	kindred_keys(s, job, keys);
	for (int i = 0; i < KINDRED; i++)
		history_note(h, keys[i], run);
	history_area(h, work, DUE_SMALL);
}
