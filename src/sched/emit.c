/*
 * emit.c - applies events to jobs and updates the queues; nothing else here changes a job's state.
 */
#include "plan/insert.h"
#include "sched/sched.h"
#include "sched/sched_internal.h"
#include <assert.h>

bool is_special(const struct job *job)
{
	return job->kind != KIND_COMMON;
}

/* FIFO is by id: a job that returns takes its old position. */
static void special_add(struct sched *s, uint32_t job)
{
	size_t i = s->special.n;

	while (i > 0 && s->special.v[i - 1] > job)
		i--;
	vec_insert(&s->special, i, job);
}

static void special_remove(struct sched *s, uint32_t job)
{
	for (size_t i = 0; i < s->special.n; i++)
		if (s->special.v[i] == job) {
			vec_remove(&s->special, i);
			return;
		}
}

void queue_count(struct sched *s, const struct job *job, int sign)
{
	if (job_waits(job))
		s->line.queued_area +=
			sign * (double)job->walltime * (double)cluster_job_request(s->c, job)->total.v[RES_CPU];
}

/* Returns when a common job has waited too long: after settings.starve_after, and with
 * STARVE_QUEUE not before the queue it found would have been served. In order of arrival it
 * would not have started sooner, so until then lighter jobs may pass. */
static int64_t starves_at(const struct sched *s, const struct job *job)
{
	int64_t after = s->c->settings.starve_after;

	if (s->policy->starve == STARVE_QUEUE && s->c->total.v[RES_CPU] > 0) {
		double served = s->line.queued_area / (double)s->c->total.v[RES_CPU];
		if (served > (double)after)
			after = (int64_t)served;
	}
	return job->submit + after;
}

void patience_begin(struct sched *s, const struct job *job)
{
	heap_push(&s->line.patience, starves_at(s, job), job->id, job->attempt);
}

bool has_slot(const struct job *job)
{
	return job->state == STATE_ALLOCATED || job->state == STATE_NOW || job->state == STATE_RUNNING;
}

int64_t sched_cpus(const struct sched *s, uint32_t id)
{
	const struct job *job = cluster_job(s->c, id);

	if ((job->state == STATE_NOW || job->state == STATE_RUNNING) && plan_holds(s->p, id))
		return plan_cpus(s->p, id);
	return cluster_most_cpus(s->c, job->request, job->allowed);
}

void slot_count(struct sched *s, const struct job *job, int sign)
{
	if (s->limits && sign > 0) {
		struct limit_need need = sched_need(s, job);
		limits_take(s->limits, job->id, job->limits, &need);
	} else if (s->limits && sign < 0) {
		limits_give(s->limits, job->id);
	}
}

void slot_run(struct sched *s, const struct job *job)
{
	if (s->limits && (job->state == STATE_NOW || job->state == STATE_RUNNING)) {
		struct limit_need need = sched_need(s, job);
		limits_run(s->limits, job->id, &need, job->start + job->walltime);
	}
}

void starting_add(struct sched *s, uint32_t id)
{
	const struct job *job = cluster_job(s->c, id);

	vec_push(&s->starting, id);
	if (!has_slot(job))
		slot_count(s, job, 1);
}

void sched_enqueue(struct sched *s, const struct job *job)
{
	cycle_untry(s, job->id);
	if (is_special(job)) {
		special_add(s, job->id);
		vec_push(&s->newcomers, job->id);
		return;
	}
	queue_add(s, job->id);
	if (s->starving)
		patience_begin(s, job);
}

void sched_dequeue(struct sched *s, const struct job *job)
{
	if (is_special(job))
		special_remove(s, job->id);
	else
		queue_remove(s, job->id);
}

void sched_emit_detail(struct sched *s, enum event_type type, uint32_t id, int64_t at, uint32_t by, const void *detail)
{
	struct job *job = cluster_job(s->c, id);
	struct event e = {.time = s->now, .at = at, .job = id, .by = by, .type = (uint8_t)type, .detail = detail};
	if (type == EVENT_DEALLOCATE)
		e.at = LOST_WITH_GUARANTEE;

	bool waited = job_waits(job), had_slot = has_slot(job) || type == EVENT_START; /* see starting_add() */

	if (s->starving)
		queue_count(s, job, -1);

	enum job_kind by_kind = by == JOB_NONE ? KIND_COMMON : cluster_job(s->c, by)->kind;

	if (type == EVENT_ALLOCATE || type == EVENT_START || type == EVENT_MIGRATE ||
	    (type == EVENT_KEEP && plan_holds(s->p, id))) {
		e.nnodes = plan_hold(s->p, id)->nfrags;
		vec_reserve(&s->nodes, e.nnodes);
		plan_nodes(s->p, id, s->nodes.v);
		e.nodes = s->nodes.v;
	}
	if (type == EVENT_STARVE)
		queue_remove(s, job->id);

	struct err err;
	if (job_apply(job, &e, by_kind, &err) != 0)
		assert(!"an event that is not legal in the job's state");
	slot_count(s, job, has_slot(job) - had_slot);
	slot_run(s, job);
	if (s->starving)
		queue_count(s, job, 1);
	if (type == EVENT_STARVE)
		special_add(s, id);
	else if (waited && !job_waits(job))
		sched_dequeue(s, job);
	else if (!waited && job_waits(job))
		sched_enqueue(s, job);
	else if (type == EVENT_DEALLOCATE)
		cycle_untry(s, id);
	if (s->due.shadow)
		due_watch(s, job, type, waited);
	if (s->ears.listener)
		s->ears.listener(s->ears.context, &e);
}

void sched_emit(struct sched *s, enum event_type type, uint32_t id, int64_t at, uint32_t by)
{
	sched_emit_detail(s, type, id, at, by, NULL);
}

bool sched_limited(const struct sched *s, uint32_t job)
{
	return cluster_job(s->c, job)->state == STATE_CANDIDATE && !sched_may(s, job);
}

bool sched_in_line(const struct sched *s, uint32_t job)
{
	return queue_in_line(s, job);
}

bool sched_node_open(const struct sched *s, uint32_t node)
{
	return s->c->nodes.v[node].up && (!s->plain.on || nodeset_has(s->plain.on, node));
}

int64_t sched_idle_cpus(const struct sched *s)
{
	int64_t sum = s->p->free_sum;

	for (uint32_t word = 0; s->nclosed && word < s->open.nwords; word++)
		for (uint64_t closed = ~s->open.word[word]; closed; closed &= closed - 1) {
			uint32_t node = word * 64 + (uint32_t)__builtin_ctzll(closed);
			if (node < s->p->nnodes)
				sum -= s->p->free_now[node];
		}
	return sum;
}

void sched_refresh(struct sched *s)
{
	s->freed = s->stirred = true;
	s->dirty = TIME_NEVER;
}

bool cycle_tried(const struct sched *s, uint32_t job, unsigned what)
{
	uint64_t known;

	return map_get(&s->effort.tried, job, &known) && (known & what);
}

void cycle_try(struct sched *s, uint32_t job, unsigned what)
{
	uint64_t known = 0;

	if (!s->effort.pace) /* there is only one cycle then */
		return;
	map_get(&s->effort.tried, job, &known);
	map_set(&s->effort.tried, job, known | what);
}

void sched_at(struct sched *s, int64_t now)
{
	s->now = now;
	plan_advance(s->p, now);
	if (s->limits)
		limits_advance(s->limits, now);
}

void cycle_untry(struct sched *s, uint32_t job)
{
	map_remove(&s->effort.tried, job);
	if (s->effort.search.job == job)
		s->effort.search.job = JOB_NONE;
}

bool cycle_tired(struct sched *s)
{
	s->effort.unfinished =
		s->effort.unfinished || (s->effort.pace && s->p->work - s->effort.began >= s->effort.pace);
	return s->effort.unfinished;
}
