/*
 * conservative.c - every waiting job has a reservation, and keeps it or gets an earlier one.
 *
 * At its submission a job takes the earliest hole. When a job ends, the waiting ones are taken out, in order of arrival,
 * and put back at their earliest place, which is never later than where they were.
 */
#include "sched/sched_internal.h"

/* At its earliest place; a place at now starts it. */
static void conservative_place(struct sched *s, uint32_t job, int64_t length)
{
	int64_t at = plan_insert_earliest(s->p, &s->plain, job, s->now, length);

	if (at == s->now) {
		vec_push(&s->starting, job);
		queue_remove(s, job);
	} else if (at != TIME_NEVER) {
		vec_push(&s->reserved, job);
	}
}

void conservative_pass(struct sched *s)
{
	bool due = false;

	for (size_t i = 0; i < s->reserved.n && !due && !s->freed; i++)
		due = plan_piece(s->p, s->reserved.v[i], 0)->start <= s->now;
	if (s->freed || due) {
		vec_clear(&s->reserved);
		for (size_t i = 0; i < s->by_key.n;) {
			struct entry e = s->by_key.v[i];
			if (plan_holds(s->p, e.job))
				plan_take_job(s->p, e.job);
			conservative_place(s, e.job, e.length);
			i += i < s->by_key.n && s->by_key.v[i].job == e.job;
		}
	} else {
		for (size_t i = 0; i < s->fresh.n; i++)
			conservative_place(s, s->fresh.v[i], queue_get(s, s->fresh.v[i])->length);
	}
	vec_clear(&s->fresh);
	s->freed = false;
}
