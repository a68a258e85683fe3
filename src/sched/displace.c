/*
 * displace.c - running jobs that have to leave a partition for a job with a deadline (position.c).
 * For interactive jobs see entrance.c.
 *
 * The displaced job continues until its place is needed (victims.c). The partition for its restart,
 * right afterwards, is booked in the plan when the other job is placed, so that the starts
 * predicted for waiting jobs take it into account.
 */
#include "plan/booking.h"
#include "sched/position_internal.h"

static struct restart *restart_find(const struct sched *s, uint32_t job)
{
	for (size_t i = 0; i < s->position.restarts.n; i++)
		if (s->position.restarts.v[i].job == job)
			return &s->position.restarts.v[i];
	return NULL;
}

static void restart_unbook(struct sched *s, const struct restart *r)
{
	const struct partition *part = &s->c->partitions.v[r->partition];
	int32_t n = part->first;

	do {
		plan_unbook(s->p, (uint32_t)n, (struct owner){OWNER_RESTART, r->job});
		n = s->c->nodes.v[n].peer;
	} while (n != part->first);
}

/* Books the partition of a restart. */
static void restart_rebook(struct sched *s, const struct restart *r)
{
	const struct partition *part = &s->c->partitions.v[r->partition];
	int64_t end = r->start + sched_length(s, cluster_job(s->c, r->job));
	int32_t n = part->first;

	do {
		plan_book(s->p, (uint32_t)n, (struct owner){OWNER_RESTART, r->job}, r->start, end);
		n = s->c->nodes.v[n].peer;
	} while (n != part->first);
}

/* Books a partition for the restart of a running job that will be displaced: right after the job
 * that takes its place, or as soon as possible. */
static void restart_book(struct sched *s, uint32_t id, int64_t from)
{
	int64_t length = sched_length(s, cluster_job(s->c, id)), at;
	const struct partition *part;

	/* it waits for its hours, as other such jobs do */
	if (cluster_nightly(s->c, cluster_job(s->c, id)))
		return;
	at = plan_partition_earliest(s->p, id, from, length, &part);
	if (at == TIME_NEVER)
		return;

	struct restart r = {id, part->name, at};

	vec_push(&s->position.restarts, r);
	restart_rebook(s, &r);
}

void restarts_settle(struct sched *s)
{
	for (size_t i = 0; i < s->victims.n; i++) {
		const struct victim *v = &s->victims.v[i];
		const struct job *job = cluster_job(s->c, v->job);
		bool runs = job->state == STATE_RUNNING || job->state == STATE_NOW;
		if (runs && v->attempt == job->attempt && !restart_find(s, v->job) && plan_holds(s->p, v->by) &&
		    plan_in_partition(s->p, v->job))
			restart_book(s, v->job, plan_piece(s->p, v->by, 0)->end);
	}
}

void restarts_forget(struct sched *s)
{
	for (size_t i = 0; i < s->position.restarts.n; i++)
		restart_unbook(s, &s->position.restarts.v[i]);
	vec_clear(&s->position.restarts);
}

void restart_lift(struct sched *s, uint32_t job)
{
	const struct restart *r = restart_find(s, job);

	if (r)
		restart_unbook(s, r);
}

void restart_return(struct sched *s, uint32_t job)
{
	const struct restart *r = restart_find(s, job);

	if (r)
		restart_rebook(s, r);
}

void restart_drop(struct sched *s, uint32_t job)
{
	struct restart *r = restart_find(s, job);

	if (!r)
		return;
	restart_unbook(s, r);
	*r = s->position.restarts.v[--s->position.restarts.n];
}

void displace_stop(struct sched *s, uint32_t id, uint32_t by)
{
	bool runs = cluster_job(s->c, id)->state == STATE_RUNNING;

	sched_emit(s, runs ? EVENT_PREEMPT : EVENT_START_FAILED, id, 0, by);
	queue_settle(s);
}

void restarts_review(struct sched *s)
{
	for (size_t i = s->position.restarts.n; i-- > 0;) {
		struct restart r = s->position.restarts.v[i];
		const struct job *job = cluster_job(s->c, r.job);
		if (victims_has(s, r.job))
			continue;
		restart_unbook(s, &r);
		s->position.restarts.v[i] = s->position.restarts.v[--s->position.restarts.n];
		if (job->state == STATE_CANDIDATE && !is_special(job) && !queue_in_line(s, r.job)) {
			struct item x = item_of(s, job);
			int64_t from = r.start > s->now ? r.start : s->now;
			item_publish_common(s, &x, place_earliest(s, r.job, from, x.length));
		}
		sched_refresh(s);
	}
}

/* Gives a job another place that is as early and displaces no other job, and lets its victim run
 * to its end. Returns false, with the plan unchanged, if that is impossible. */
static bool spare(struct sched *s, const struct victim *v, const struct item *by)
{
	plan_mark mark = plan_begin(s->p);

	plan_take_job(s->p, by->job);
	if (item_place(s, by, s->now) > by->start || !plan_cut(s->p, v->job, v->full)) {
		plan_rollback(s->p, mark);
		return false;
	}
	special_tell(s, mark, by->job);
	return true;
}

void displace_review(struct sched *s)
{
	for (size_t i = s->victims.n; i-- > 0;) {
		struct victim v = s->victims.v[i];
		const struct job *by = cluster_job(s->c, v.by);
		struct restart *r = restart_find(s, v.job);
		item_vec one = {0};
		if (!r || by->state != STATE_ALLOCATED || by->start <= s->now)
			continue;
		vec_push(&one, item_of(s, by));
		restart_unbook(s, r); /* the booking may block the very place it was made for */
		if (spare(s, &v, &one.v[0])) {
			items_publish(s, &one, JOB_NONE);
			*r = s->position.restarts.v[--s->position.restarts.n];
		} else {
			restart_rebook(s, r);
		}
		vec_free(&one);
	}
}

bool position_displace(struct sched *s, struct item x, const item_vec *others)
{
	const struct job *job = cluster_job(s->c, x.job);
	struct manner m = s->plain;
	item_vec all = {0};
	plan_mark mark;

	if (!plan_in_partition(s->p, x.job))
		return false;
	mark = plan_begin(s->p);
	for (size_t i = 0; i < others->n; i++)
		if (others->v[i].latest == TIME_NEVER)
			plan_take_job(s->p, others->v[i].job);
	m.may_remove = REMOVE_RUN_COMMON;

	plan_mark inner = plan_begin(s->p);

	int64_t at = plan_insert_latest(s->p, &m, x.job, s->now, cluster_until(job), x.length);

	if (at == TIME_NEVER || !victims_in_time(s, inner, at)) {
		plan_rollback(s->p, inner);
		plan_rollback(s->p, mark);
		return false;
	}

	job_vec cut = {0};
	VEC(int64_t) before = {0};
	plan_touched(s->p, inner, &cut);
	for (size_t i = 0; i < cut.n; i++)
		vec_push(&before, plan_end_before(s->p, inner, cut.v[i]));
	plan_commit(s->p, inner);
	plan_commit(s->p, mark);
	vec_push(&all, x);
	items_publish(s, &all, x.job);
	vec_clear(&all);
	for (size_t i = 0; i < cut.n; i++) {
		if (cut.v[i] == x.job)
			continue;
		restart_drop(s, cut.v[i]);
		if (plan_holds(s->p, cut.v[i])) {
			victims_note(s, cut.v[i], x.job, before.v[i]);
			restart_book(s, cut.v[i], plan_piece(s->p, x.job, 0)->end);
			continue;
		}
		displace_stop(s, cut.v[i], x.job);
		vec_push(&all, item_of(s, cluster_job(s->c, cut.v[i]))); /* ahead of all waiting jobs */
	}
	for (size_t i = 0; i < others->n; i++)
		if (others->v[i].latest == TIME_NEVER)
			vec_push(&all, others->v[i]);
	items_place(s, &all, 0);
	items_publish(s, &all, x.job);
	vec_free(&all);
	vec_free(&cut);
	vec_free(&before);
	return true;
}
