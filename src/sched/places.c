/*
 * places.c - places that jobs lose because they were not promised or are in the way.
 */
#include <stdlib.h>

#include "sched/sched_internal.h"

void places_drop(struct sched *s)
{
	struct queued *e;

	for (size_t i = 0; i < s->reserved.n; i++)
		plan_take_job(s->p, s->reserved.v[i]);
	vec_clear(&s->reserved);
	if (s->policy->position) /* restored jobs have places before they are in the array */
		queue_settle(s);
	for (struct spot i = {0}; s->policy->keep && (e = ranks_next(&s->line.by_key, &i, true)); i.at++) {
		place_forget(s, e->job);
		plan_take_job(s->p, e->job);
		ranks_plan(&s->line.by_key, e, TIME_NEVER);
	}
	s->next_planned = TIME_NEVER;
	s->head = JOB_NONE;
	s->sweep.on = false; /* all jobs must be considered again */
	sched_refresh(s);
}

/* Kept places stay, except those that the change concerns (place_lose). */
void places_ease(struct sched *s)
{
	if (s->policy->position)
		queue_settle(s);
	else
		places_drop(s);
}

void place_lose(struct sched *s, uint32_t job, uint32_t by)
{
	if (s->policy->position && cluster_job(s->c, job)->state == STATE_CANDIDATE) {
		ranks_plan(&s->line.by_key, queue_entry(s, job), TIME_NEVER);
		place_forget(s, job);
		cycle_untry(s, job);
		s->position.recount = true;
	}
	plan_take_job(s->p, job);
	if (cluster_job(s->c, job)->state != STATE_ALLOCATED)
		return;
	if (cluster_job(s->c, job)->guaranteed && !s->policy->position)
		vec_push(&s->lost, (struct lost){job, by});
	else
		sched_emit(s, EVENT_DEALLOCATE, job, 0, by);
}

static int lost_cmp(const void *a, const void *b)
{
	const struct lost *x = a, *y = b;

	return x->job < y->job ? -1 : x->job > y->job;
}

void places_again(struct sched *s)
{
	if (s->lost.n > 1)
		qsort(s->lost.v, s->lost.n, sizeof *s->lost.v, lost_cmp);
	for (size_t i = 0; i < s->lost.n; i++)
		if (!special_replace(s, s->lost.v[i].job))
			sched_emit(s, EVENT_DEALLOCATE, s->lost.v[i].job, 0, s->lost.v[i].by);
	vec_clear(&s->lost);
}
