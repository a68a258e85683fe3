/*
 * slices.c - time slices (policy artaras, settings.time_slice): a gang that has held its partition
 * for one slice saves its work and makes room for a job that waits for it.
 *
 * It then waits behind all waiting jobs: the event is a PREEMPT by the job itself, which sets its
 * rank to that instant (core/job.c). So no waiting job starts later because of it, and the stopped
 * job gets its turn again. A job that no other job waits for continues, as does one that will soon
 * end, cannot save its work, or has a deadline. A forecast ignores the slices of jobs that run when
 * it begins: waiting jobs may start earlier than predicted.
 */
#include "sched/position_internal.h"

#define LOOK_MOST 1000 /* maximum waiting jobs examined for one that is to be stopped */

static const struct partition *partition_of(const struct sched *s, uint32_t job)
{
	uint32_t name = s->c->nodes.v[plan_place(s->p, job, 0)->node].partition;

	return name == PARTITION_NONE ? NULL : &s->c->partitions.v[name - 1];
}

static bool has_slices(const struct sched *s, const struct job *job)
{
	return s->policy->position && s->c->settings.time_slice > 0 && job->saving > 0 && !job->interactive &&
	       !is_special(job) && job->deadline == TIME_NEVER && plan_holds(s->p, job->id) && partition_of(s, job->id);
}

void slices_note(struct sched *s, const struct job *job)
{
	if ((job->state == STATE_NOW || job->state == STATE_RUNNING) && has_slices(s, job))
		heap_push(&s->position.slices, job->start + s->c->settings.time_slice, job->id, job->attempt);
}

/* Returns the first job that waits for the partition and is not in `served`. */
static uint32_t waits_for(const struct sched *s, const struct partition *part, const job_vec *served)
{
	const struct queued *e;
	int looked = 0;

	for (struct spot i = {0}; (e = ranks_at(&s->line.by_key, &i)) && looked < LOOK_MOST; i.at++, looked++) {
		bool is_served = false;

		for (size_t k = 0; k < served->n && !is_served; k++)
			is_served = served->v[k] == e->job;
		if (!is_served && e->planned > s->now && plan_may_use(s->p, e->job, part) && sched_may(s, e->job) &&
		    !item_is_nice(s, cluster_job(s->c, e->job)))
			return e->job;
	}
	return JOB_NONE;
}

/* Returns true if a job whose slice is over still holds its partition. */
static bool is_over(const struct sched *s, const struct slice *x)
{
	const struct job *job = cluster_job(s->c, x->job);

	return job->state == STATE_RUNNING && job->attempt == x->attempt && has_slices(s, job) &&
	       !victims_has(s, x->job);
}

static void slice_end(struct sched *s, uint32_t job)
{
	plan_take_job(s->p, job);
	sched_emit(s, EVENT_PREEMPT, job, 0, job);
	queue_settle(s);
	s->position.moved = true;
	sched_refresh(s);
}

void slices_stop(struct sched *s)
{
	struct heap_item x;
	job_vec served = {0};
	size_t kept = 0;

	while (heap_peek(&s->position.slices, &x) && x.time <= s->now) {
		heap_pop(&s->position.slices, &x);
		vec_push(&s->position.over, (struct slice){(uint32_t)x.tie, (uint16_t)x.value});
	}
	for (size_t i = 0; i < s->position.over.n; i++) {
		struct slice one = s->position.over.v[i];
		if (!is_over(s, &one))
			continue;
		int64_t left = plan_piece(s->p, one.job, 0)->end - s->now;
		uint32_t by = left > 2 * cluster_job(s->c, one.job)->saving
				      ? waits_for(s, partition_of(s, one.job), &served)
				      : JOB_NONE;
		if (by == JOB_NONE) {
			s->position.over.v[kept++] = one;
			continue;
		}
		vec_push(&served, by);
		vec_push(&served, one.job); /* no other job is stopped for it at once */
		slice_end(s, one.job);
	}
	s->position.over.n = kept;
	vec_free(&served);
}

int64_t slices_wake(const struct sched *s)
{
	struct heap_item x;

	return heap_peek(&s->position.slices, &x) ? x.time : TIME_NEVER;
}
