/*
 * history.c - what finished jobs tell about waiting ones.
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
	return mean < (double)job->walltime ? mean : (double)job->walltime;
}

void history_finish(struct sched *s, const struct job *job)
{
	if (s->policy->know == KNOW_PREDICTION)
		history_note(&s->history, job->user, (double)(s->now - job->start));
}
