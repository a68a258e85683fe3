/*
 * victims.c - running jobs whose places emergency jobs need.
 *
 * An emergency job is placed as late as its deadline allows. A running job that is in its way there
 * is cut short in the plan: it holds its place until that is needed, and not a second less. When
 * its time has come, less what it takes to end it (sched_on_delay), it is stopped. If something
 * else ends meanwhile and the emergency job fits without it, it is spared: planned to its own end
 * again.
 *
 * The cut is an event (MIGRATE, with the new end and the job that caused it), so it survives a
 * restart.
 */
#include "sched/sched_internal.h"

static struct victim *victim_find(const struct sched *s, uint32_t job)
{
	for (size_t i = 0; i < s->victims.n; i++)
		if (s->victims.v[i].job == job)
			return &s->victims.v[i];
	return NULL;
}

static bool runs(const struct job *job)
{
	return job->state == STATE_RUNNING || job->state == STATE_NOW;
}

static int64_t planned_end(const struct sched *s, uint32_t job)
{
	return plan_piece(s->p, job, 0)->end;
}

/* Returns the maximum seconds it takes to end a job, including a checkpoint if it makes one. */
static int64_t leaving(const struct sched *s, uint32_t job)
{
	return s->ears.delay ? s->ears.delay(s->ears.delay_context, job) : 0;
}

/* Returns when a victim has to be stopped so that its place is free when it is needed. */
static int64_t stop_at(const struct sched *s, uint32_t job)
{
	return planned_end(s, job) - leaving(s, job);
}

bool victims_in_time(const struct sched *s, plan_mark mark, int64_t at)
{
	job_vec touched = {0};
	bool good = true;

	plan_touched(s->p, mark, &touched);
	for (size_t i = 0; i < touched.n && good; i++) {
		const struct job *job = cluster_job(s->c, touched.v[i]);
		bool cut = runs(job) && (!plan_holds(s->p, job->id) ||
					 planned_end(s, job->id) < plan_end_before(s->p, mark, job->id));
		good = !cut || at - leaving(s, job->id) >= s->now;
	}
	vec_free(&touched);
	return good;
}

/* Returns true if the victim still runs, in the same attempt, and is cut short. One that was not
 * stopped in time may have run past its own end. */
static bool victim_lives(const struct sched *s, const struct victim *v)
{
	const struct job *job = cluster_job(s->c, v->job);

	return runs(job) && job->attempt == v->attempt && plan_holds(s->p, v->job) &&
	       planned_end(s, v->job) < v->full && v->full > s->now;
}

bool victims_has(const struct sched *s, uint32_t job)
{
	const struct victim *v = victim_find(s, job);

	return v && victim_lives(s, v);
}

int64_t victims_end(const struct sched *s, uint32_t job)
{
	const struct victim *v = victim_find(s, job);

	return v && victim_lives(s, v) ? v->full : planned_end(s, job);
}

void victims_full(struct sched *s, uint32_t job, int64_t full)
{
	victim_find(s, job)->full = full;
}

/* Returns true if a job may cut running ones short: an emergency job by its powers, or one with
 * a deadline under a policy by position. */
static bool may_cut(const struct sched *s, uint32_t by)
{
	enum job_kind kind = by == JOB_NONE ? KIND_COMMON : (enum job_kind)cluster_job(s->c, by)->kind;

	return kind == KIND_EMERGENCY || (s->policy->position && kind == KIND_QOS);
}

void victims_note(struct sched *s, uint32_t job, uint32_t by, int64_t before)
{
	struct victim *v = victim_find(s, job);
	int64_t end = planned_end(s, job), full = v ? v->full : before;
	bool cut = end < full && (v || may_cut(s, by));
	bool changed = !v || end != before || (cut && by != JOB_NONE && by != v->by);

	if (cut && !v)
		vec_push(&s->victims, (struct victim){job, by, full, cluster_job(s->c, job)->attempt});
	else if (cut && by != JOB_NONE)
		v->by = by;
	else if (v && !cut)
		*v = s->victims.v[--s->victims.n];
	if (v && !cut)
		by = JOB_NONE; /* spared */
	if (changed)
		sched_emit(s, EVENT_MIGRATE, job, end, by);
}

void victims_release(struct sched *s)
{
	for (size_t i = 0; i < s->victims.n; i++)
		if (victim_lives(s, &s->victims.v[i]))
			plan_cut(s->p, s->victims.v[i].job, s->victims.v[i].full);
}

static void drop_dead(struct sched *s)
{
	for (size_t i = s->victims.n; i-- > 0;)
		if (!victim_lives(s, &s->victims.v[i]))
			s->victims.v[i] = s->victims.v[--s->victims.n];
}

/* Spares victims whose places are no longer needed: the job they were to be stopped for is
 * elsewhere, or gone. */
static void spare_unneeded(struct sched *s)
{
	for (size_t i = s->victims.n; i-- > 0;) {
		struct victim v = s->victims.v[i];
		plan_mark mark = plan_begin(s->p);
		plan_cut(s->p, v.job, v.full);
		special_tell(s, mark, JOB_NONE);
	}
}

/* Counts the running jobs that are cut short, or have been removed since the mark. */
static size_t count_cut(const struct sched *s, plan_mark mark)
{
	job_vec touched = {0};
	size_t n = 0;

	for (size_t i = 0; i < s->victims.n; i++)
		n += !plan_holds(s->p, s->victims.v[i].job) ||
		     planned_end(s, s->victims.v[i].job) < s->victims.v[i].full;
	plan_touched(s->p, mark, &touched);
	for (size_t i = 0; i < touched.n; i++) {
		const struct job *job = cluster_job(s->c, touched.v[i]);
		if (runs(job) && !victim_find(s, job->id) &&
		    (!plan_holds(s->p, job->id) || planned_end(s, job->id) < plan_end_before(s->p, mark, job->id)))
			n++;
	}
	vec_free(&touched);
	return n;
}

/* Places a reserved job again, where it is or earlier, if that leaves fewer victims. Returns
 * true if it did. */
static bool place_again(struct sched *s, uint32_t id, unsigned may)
{
	const struct job *job = cluster_job(s->c, id);
	struct manner m = s->plain;
	plan_mark mark = plan_begin(s->p);
	int64_t at;

	plan_take_job(s->p, id);
	victims_release(s);
	m.may_remove = may;
	at = plan_insert_latest(s->p, &m, id, s->now, job->start + sched_length(s, job), sched_length(s, job));
	if (at == TIME_NEVER || count_cut(s, mark) >= s->victims.n) {
		plan_rollback(s->p, mark);
		return false;
	}
	special_allocate(s, id, at, mark);
	return true;
}

void victims_review(struct sched *s)
{
	bool freed = s->freed;

	if (!s->victims.n)
		return;
	places_drop(s); /* places that were not promised do not justify stopping a job */
	drop_dead(s);
	spare_unneeded(s);
	for (size_t i = 0; i < s->special.n && freed && s->victims.n; i++) {
		const struct job *job = cluster_job(s->c, s->special.v[i]);
		if (job->state == STATE_ALLOCATED && job->deadline != TIME_NEVER && !place_again(s, job->id, 0) &&
		    job->kind == KIND_EMERGENCY)
			place_again(s, job->id, special_granted(job));
	}
}

void victims_stop(struct sched *s)
{
	drop_dead(s);
	spare_unneeded(s); /* places that only an intermediate step of this cycle needed */
	for (size_t i = s->victims.n; i-- > 0;) {
		struct victim v = s->victims.v[i];
		const struct job *job = cluster_job(s->c, v.job);
		if (stop_at(s, v.job) > s->now)
			continue;
		s->victims.v[i] = s->victims.v[--s->victims.n];
		plan_take_job(s->p, v.job);
		sched_emit(s, job->state == STATE_RUNNING ? EVENT_PREEMPT : EVENT_START_FAILED, v.job, 0, v.by);
		sched_refresh(s);
	}
}

int64_t victims_wake(const struct sched *s)
{
	int64_t next = TIME_NEVER;

	for (size_t i = 0; i < s->victims.n; i++)
		if (victim_lives(s, &s->victims.v[i]) && stop_at(s, s->victims.v[i].job) < next)
			next = stop_at(s, s->victims.v[i].job);
	return next;
}

void victims_restore(struct sched *s, const struct job *job)
{
	int64_t full = job->start + sched_length(s, job);

	if (!runs(job) || cluster_nightly(s->c, job) || !may_cut(s, job->by) || planned_end(s, job->id) >= full)
		return;
	vec_push(&s->victims, (struct victim){job->id, job->by, full, job->attempt});
}
