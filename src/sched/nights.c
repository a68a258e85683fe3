/*
 * nights.c - jobs that run only at certain hours (policy artaras): their checkpoints take too
 * long for interactive jobs to wait for them.
 *
 * A job that fits into a night or weekend is placed in the first one that has room for all of it. A
 * job that is longer than any of them is placed from where there is room to the end of those hours,
 * is stopped early enough before to save its work, and waits again. A forecast assumes that it is
 * finished then.
 */
#include "sched/position_internal.h"

#define SPANS_MOST 2000 /* maximum nights examined for a place */

/* Finds a place that ends by `until`: of the whole length or, if it may be cut, of what is left,
 * but longer than `least`. Sets *ret_never if there is none at any time. */
static int64_t place_until(struct sched *s, uint32_t id, int64_t from, int64_t until, int64_t length, int64_t least,
			   bool *ret_never)
{
	*ret_never = false;
	while (until - from > least) {
		int64_t part = length < until - from ? length : until - from;
		int64_t at = plan_insert_earliest(s->p, &s->plain, id, from, part);
		*ret_never = at == TIME_NEVER;
		if (at == TIME_NEVER || at + part <= until)
			return at;
		plan_take_job(s->p, id);
		from = at;
	}
	return TIME_NEVER;
}

int64_t place_earliest(struct sched *s, uint32_t id, int64_t from, int64_t length)
{
	const struct job *job = cluster_job(s->c, id);
	int64_t begin, end, least, at = TIME_NEVER;
	bool never;

	if (!cluster_nightly(s->c, job))
		return plan_insert_earliest(s->p, &s->plain, id, from, length);
	least = cluster_nights_short(s->c, job) ? 2 * job->saving : length - 1;
	for (int i = 0; i < SPANS_MOST && hours_next(&s->c->settings.nights, from, &begin, &end); i++) {
		if (begin < from)
			begin = from;
		if (end == TIME_NEVER)
			return plan_insert_earliest(s->p, &s->plain, id, begin, length);
		at = place_until(s, id, begin, end, length, least, &never);
		if (at != TIME_NEVER || never)
			return at;
		from = end;
	}
	return TIME_NEVER;
}

bool nights_keep(const struct sched *s, const struct job *job, int64_t *ret_begin)
{
	int64_t length = sched_length(s, job), end;

	if (!cluster_nightly(s->c, job) || !hours_next(&s->c->settings.nights, s->now, ret_begin, &end))
		return false;
	if (*ret_begin > s->now)
		return true;
	if (end - s->now >= length || (cluster_nights_short(s->c, job) && end - s->now > 2 * job->saving))
		return false;
	return hours_next(&s->c->settings.nights, end, ret_begin, &end);
}

/* ---- running jobs ---- */

void nights_note(struct sched *s, const struct job *job)
{
	int64_t end = plan_holds(s->p, job->id) ? plan_piece(s->p, job->id, 0)->end : TIME_NEVER;

	if ((job->state == STATE_NOW || job->state == STATE_RUNNING) && cluster_nightly(s->c, job) &&
	    end < job->start + sched_length(s, job))
		heap_push(&s->position.nights, end - job->saving, job->id, job->attempt);
}

void nights_stop(struct sched *s)
{
	struct heap_item x;

	while (heap_peek(&s->position.nights, &x) && x.time <= s->now) {
		const struct job *job = cluster_job(s->c, (uint32_t)x.tie);
		bool runs = job->state == STATE_RUNNING;
		int64_t end;
		heap_pop(&s->position.nights, &x);
		if ((!runs && job->state != STATE_NOW) || job->attempt != x.value || !cluster_nightly(s->c, job))
			continue;
		end = plan_piece(s->p, job->id, 0)->end;
		plan_take_job(s->p, job->id);
		sched_emit(s, runs ? EVENT_PREEMPT : EVENT_START_FAILED, job->id, end, JOB_NONE);
		queue_settle(s);
		sched_refresh(s);
	}
}

int64_t nights_wake(const struct sched *s)
{
	struct heap_item x;

	return heap_peek(&s->position.nights, &x) ? x.time : TIME_NEVER;
}
