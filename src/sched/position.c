/*
 * position.c - deadlines kept by position in the queue: policy artaras (docs/policies.md).
 *
 * Every waiting job has a place in the plan. The base order is FIFO: a job is put at its earliest
 * place behind those that came before. A job that would miss its deadline there is moved up, to the
 * last position that still meets it; the jobs it passes are placed again behind it, and those of
 * them with a deadline are moved up in turn. If no order meets all deadlines, the jobs with
 * deadlines come first, by their latest starts: the feasibility test. If that also fails, and a
 * running job could be displaced, the new job waits as long as its deadline allows and then takes
 * that job's partition; the displaced job gets the partition back right afterwards. Otherwise its
 * deadline is not guaranteed, and it starts as soon as the others allow, ahead of normal jobs.
 *
 * A place is a promise: when something is freed, jobs are brought forward in the order of their
 * places, none later than before. Others are delayed only by a later job that has a deadline or is
 * interactive, or when a user or administrator moves jobs: then all are placed again in their new
 * order. When a waiting job is removed, the order is made again from FIFO, so that jobs that had
 * been moved up return to where they belong. If that would delay a normal job, all are brought
 * forward instead.
 *
 * In a long queue only the first jobs have places (settings.reserve_depth); the others start where
 * they fit beside all places.
 *
 * Nice jobs are behind all others until their date. Interactive jobs start on arrival, or expire:
 * entrance.c.
 */
#include <stdlib.h>

#include "sched/position_internal.h"

/* ---- adding a job ---- */

/* Tries one order of the others and the new job, which is last. */
static bool try_order(struct sched *s, const item_vec *all, int (*order)(const void *, const void *))
{
	item_vec v = {0};
	size_t from = all->n - 1; /* the others stay where they are, if possible */
	plan_mark mark = plan_begin(s->p);
	bool good;

	vec_copy(&v, all);
	if (order) {
		items_take(s, &v, 0);
		items_sort(&v, order);
		from = 0;
	}
	good = items_arrange(s, &v, from);
	if (good) {
		plan_commit(s->p, mark);
		items_publish(s, &v, all->v[all->n - 1].job);
	} else {
		plan_rollback(s->p, mark);
	}
	vec_free(&v);
	return good;
}

/* Places a job whose deadline cannot be met as soon as possible, ahead of normal jobs. */
static void place_unpromised(struct sched *s, item_vec *all)
{
	size_t n = 0;
	item_vec v = {0};

	vec_push(&v, all->v[all->n - 1]);
	v.v[0].latest = TIME_NEVER;
	for (; n + 1 < all->n; n++)
		if (!is_special(cluster_job(s->c, all->v[n].job)))
			vec_push(&v, all->v[n]);
	items_take(s, &v, 0);
	items_place(s, &v, 0);
	items_publish(s, &v, v.v[0].job);
	vec_free(&v);
}

static void add_special(struct sched *s, const struct job *job)
{
	struct item x = item_of(s, job);
	item_vec all = {0};

	items_collect(s, job->id, &all);
	x.latest = cluster_latest(s->c, job);
	vec_push(&all, x);
	if (x.latest < s->now || cluster_nights_short(s->c, job) ||
	    (!try_order(s, &all, NULL) && !try_order(s, &all, items_by_latest))) {
		all.n--;
		bool placed = x.latest >= s->now && !cluster_nightly(s->c, job) && position_displace(s, x, &all);
		all.n++;
		if (!placed)
			place_unpromised(s, &all);
	}
	vec_free(&all);
}

/* ---- the pass ---- */

/* The next instant at which each partition is empty: it shows that most jobs cannot be brought
 * forward. */
struct gaps {
	int64_t *at;
};

static void gaps_find(const struct sched *s, struct gaps *g, uint32_t partition)
{
	if (partition != PARTITION_NONE)
		g->at[partition - 1] = plan_partition_free(s->p, &s->c->partitions.v[partition - 1], s->now, 1);
}

static uint32_t partition_of(const struct sched *s, uint32_t job)
{
	return s->c->nodes.v[plan_place(s->p, job, 0)->node].partition;
}

/* Returns true if no partition that suits a job is empty before its place. */
static bool gaps_none(const struct sched *s, const struct gaps *g, const struct item *x)
{
	if (x->start <= s->now || s->c->nodes.v[x->node].partition == PARTITION_NONE)
		return false;
	for (size_t i = 0; i < s->c->partitions.n; i++)
		if (g->at[i] < x->start && plan_may_use(s->p, x->job, &s->c->partitions.v[i]))
			return false;
	return true;
}

/* What was freed since all jobs were last brought forward: only instants before `dirty`, where at
 * most `most` CPUs are free. */
struct freed {
	int64_t dirty, most;
	struct closed closed;
};

/* Returns the instant from which it is worth looking for an earlier place. TIME_NEVER: on a flat
 * machine the sum shows that there is none. On several nodes a job may also get other nodes at the
 * same instant. A special job may have been placed later than it could be. */
static int64_t forward_from(struct sched *s, const struct item *x, struct freed *f)
{
	const struct job *job = cluster_job(s->c, x->job);
	struct queued e = {.length = x->length,
			   .planned = x->start,
			   .job = x->job,
			   .cpus = (int32_t)cluster_job_request(s->c, job)->total.v[RES_CPU]};

	if (s->p->nnodes > 1 || x->start <= s->now || cluster_nightly(s->c, job))
		return s->now;
	if (is_special(job))
		return earlier_start(s, &e, TIME_NEVER, INT64_MAX, &f->closed);
	return earlier_start(s, &e, f->dirty, f->most, &f->closed);
}

/* Notes that a job has left its place. */
static void freed_more(struct sched *s, struct freed *f, const struct item *x)
{
	int64_t from = x->start < f->dirty ? x->start : f->dirty;

	if (x->start + x->length > f->dirty)
		f->dirty = x->start + x->length;
	f->most = most_freed(s, from, x->start + x->length, f->most);
	closed_moved(&f->closed, x->start);
}

/* Returns true if the place of a job, on nodes outside partitions, depends on nothing but what is
 * free. */
static bool is_plain(const struct sched *s, uint32_t id)
{
	const struct job *job = cluster_job(s->c, id);
	const struct request *r = cluster_job_request(s->c, job);

	return !is_special(job) && !cluster_nightly(s->c, job) && (r->nfrags == 1 || r->uniform) && !r->nportions &&
	       !s->p->edges.n && !s->c->habits && plan_holds(s->p, id) && partition_of(s, id) == PARTITION_NONE;
}

/* Returns true if a job would get the place that it has: since it was placed, nothing changed where
 * its place is, and if anything did before that, the sum shows that there is no earlier place. */
static bool item_stays(struct sched *s, const struct item *x, int64_t dirty)
{
	struct opening o = {.length = x->length, .planned = x->start, .before = x->start};
	const struct trail *trail = &s->p->trail;
	uint64_t seen;

	if (x->start <= s->now || dirty == TIME_NEVER || s->p->nnodes == 1 || !is_plain(s, x->job))
		return false;
	seen = queue_get(s, x->job)->seen;
	if (trail_touches(trail, seen, x->start, x->start + x->length))
		return false;
	s->p->work++;
	o.need = cluster_job_request(s->c, cluster_job(s->c, x->job))->total;
	return !trail_touches(trail, seen, s->now, x->start) ||
	       timeline_opening(plan_sum(s->p), s->now, &o) == TIME_NEVER;
}

/* Notes that a job has its best place. */
static void item_settled(struct sched *s, const struct item *x)
{
	if (!is_special(cluster_job(s->c, x->job)))
		queue_get(s, x->job)->seen = is_plain(s, x->job) ? trail_next(&s->p->trail) : 0;
}

/* Moves a job to its earliest place at or after an instant, unless that is later than its present
 * one. */
static void item_forward(struct sched *s, const struct item *x, int64_t from)
{
	uint64_t changes = trail_next(&s->p->trail), where = places_hash(s, x->job);
	plan_mark mark = plan_begin(s->p);
	int64_t at;

	plan_take_job(s->p, x->job);
	at = item_place(s, x, from);
	if (at > x->start && x->start >= s->now)
		plan_rollback(s->p, mark);
	else
		plan_commit(s->p, mark);
	if (plan_holds(s->p, x->job) && plan_piece(s->p, x->job, 0)->start == x->start &&
	    places_hash(s, x->job) == where)
		trail_undo(&s->p->trail, changes);
}

/* Brings all jobs forward after something was freed, in the order of their places, none later
 * than before. */
static void bring_forward(struct sched *s)
{
	struct gaps gaps = {mem_alloc((s->c->partitions.n + 1) * sizeof *gaps.at)};
	struct freed freed = {.dirty = s->dirty > s->p->released ? s->dirty : s->p->released};
	item_vec all = {0};
	uint64_t changes = trail_next(&s->p->trail);

	freed.most = most_freed(s, s->now, freed.dirty, 0);
	items_collect(s, JOB_NONE, &all);
	for (uint32_t i = 1; i <= s->c->partitions.n; i++)
		gaps_find(s, &gaps, i);
	for (size_t i = 0; i < all.n; i++) {
		const struct item *x = &all.v[i];
		int64_t from = gaps_none(s, &gaps, x) ? TIME_NEVER : forward_from(s, x, &freed);
		if (from == TIME_NEVER)
			continue;
		if (item_stays(s, x, freed.dirty)) {
			item_settled(s, x);
			continue;
		}
		item_forward(s, x, from);
		item_settled(s, x);
		freed_more(s, &freed, x);
		gaps_find(s, &gaps, s->c->nodes.v[x->node].partition);
		if (plan_holds(s->p, x->job))
			gaps_find(s, &gaps, partition_of(s, x->job));
	}
	items_publish(s, &all, JOB_NONE);
	trail_forget(&s->p->trail, changes); /* every place was examined since */
	s->dirty = s->p->released = TIME_BEGIN;
	vec_free(&all);
	free(gaps.at);
}

/* Keeps the new places of the jobs if they are good; otherwise only brings jobs forward. */
static void arranged(struct sched *s, plan_mark mark, bool good, const item_vec *all)
{
	if (good) {
		plan_commit(s->p, mark);
		items_publish(s, all, JOB_NONE);
	} else {
		plan_rollback(s->p, mark);
		bring_forward(s);
	}
}

/* Makes the order again from FIFO after a waiting job was removed. */
static void recount(struct sched *s)
{
	item_vec all = {0};
	plan_mark mark = plan_begin(s->p);
	bool good;

	items_collect(s, JOB_NONE, &all);
	items_take(s, &all, 0);
	items_sort(&all, items_by_arrival);
	good = items_arrange(s, &all, 0);
	for (size_t i = 0; i < all.n && good; i++) {
		const struct item *x = &all.v[i];
		bool holds = plan_holds(s->p, x->job);
		good = holds && (x->latest != TIME_NEVER || x->nice || x->start < s->now ||
				 plan_piece(s->p, x->job, 0)->start <= x->start);
	}
	arranged(s, mark, good, &all);
	vec_free(&all);
}

/* Removes jobs without a place that exceed the reservation depth; they stay without one. */
static void cut_to_depth(const struct sched *s, item_vec *all)
{
	struct depth commons = {.most = s->c->settings.reserve_depth};
	size_t kept = 0;

	for (size_t i = 0; i < all->n; i++) {
		struct item x = all->v[i];
		const struct job *job = cluster_job(s->c, x.job);
		bool common = !is_special(job);
		if (!common || x.start != TIME_NEVER || !depth_reached(&commons, job))
			all->v[kept++] = x;
		if (common)
			depth_count(&commons, job, 1);
	}
	all->n = kept;
	vec_free(&commons.bound);
}

/* Places all jobs in the order of their ranks after jobs were moved, even if some get later
 * places. */
static void reorder(struct sched *s)
{
	item_vec all = {0};
	plan_mark mark = plan_begin(s->p);
	const struct queued *e;

	items_collect(s, JOB_NONE, &all);
	items_take(s, &all, 0);
	for (struct spot i = {0}; (e = ranks_next(&s->line.by_key, &i, false)); i.at++)
		if (sched_may(s, e->job))
			vec_push(&all, item_of(s, cluster_job(s->c, e->job)));
	items_sort(&all, items_by_arrival);
	cut_to_depth(s, &all);
	arranged(s, mark, items_arrange(s, &all, 0), &all);
	vec_free(&all);
}

static void add_specials(struct sched *s)
{
	job_vec list = {0};

	for (size_t i = 0; i < s->special.n; i++)
		if (cluster_job(s->c, s->special.v[i])->state == STATE_CANDIDATE)
			vec_push(&list, s->special.v[i]);
	for (size_t i = 0; i < list.n && !s->effort.unfinished; i++) {
		if (!sched_may(s, list.v[i]) || cycle_tried(s, list.v[i], TRIED_PLACE))
			continue;
		cycle_try(s, list.v[i], TRIED_PLACE);
		(cluster_job(s->c, list.v[i])->interactive ? entrance_add : add_special)(s,
											 cluster_job(s->c, list.v[i]));
		cycle_tired(s);
	}
	vec_free(&list);
	if (!s->effort.unfinished)
		vec_clear(&s->newcomers);
}

/* Takes away the places of nice jobs, so that others come first. */
static void nices_take(struct sched *s, item_vec *ret)
{
	const struct queued *e;

	for (struct spot i = {0}; s->position.nices && (e = ranks_next(&s->line.by_key, &i, true)); i.at++)
		if (item_is_nice(s, cluster_job(s->c, e->job)))
			vec_push(ret, item_of(s, cluster_job(s->c, e->job)));
	items_sort(ret, items_by_start);
	items_take(s, ret, 0);
}

/* Places common jobs without a place, at least one: the work done before, such as removing nice
 * jobs, must not keep all of them from their places forever. Jobs that start now, or have to wait
 * for a limit, leave the queue: only the others count. */
static void commons_place(struct sched *s, bool nice, struct depth *reserved)
{
	struct ranks *queue = &s->line.by_key;
	const struct queued *e;
	struct spot i = {0};

	while (!s->effort.unfinished && !depth_full(s, reserved) && (e = ranks_next(queue, &i, false))) {
		const struct job *job = cluster_job(s->c, e->job);
		struct item x = item_of(s, job);
		double key = e->key;
		i.at++;
		if (x.nice != nice || depth_reached(reserved, job))
			continue;
		if (!sched_may(s, x.job)) {
			queue_line_up(s, x.job);
			i = ranks_find(queue, key, x.job);
		} else if (!cycle_tried(s, x.job, TRIED_PLACE)) {
			int64_t at = item_place(s, &x, s->now);
			item_settled(s, &x);
			cycle_try(s, x.job, TRIED_PLACE);
			item_publish_common(s, &x, at);
			depth_count(reserved, job,
				    at > s->now &&
					    at != TIME_NEVER); /* a job without a place keeps no other one waiting */
			cycle_tired(s);
		}
	}
}

/* Places common jobs that have no place yet, as many as allowed: normal jobs behind all others
 * but nice ones, then nice ones. */
static void add_commons(struct sched *s)
{
	item_vec nices = {0};
	struct depth reserved = {.most = s->c->settings.reserve_depth};
	const struct queued *e;

	for (struct spot i = {0}; reserved.most && (e = ranks_next(&s->line.by_key, &i, true)); i.at++)
		depth_count(&reserved, cluster_job(s->c, e->job), e->planned > s->now);
	if (s->line.by_key.nplanned < s->line.by_key.n && !depth_full(s, &reserved))
		nices_take(s, &nices);
	commons_place(s, false, &reserved);
	items_place(s, &nices, 0);
	items_publish(s, &nices, JOB_NONE);
	commons_place(s, true, &reserved);
	vec_free(&nices);
	vec_free(&reserved.bound);
}

bool position_keeps(const struct sched *s, const struct job *job)
{
	return item_is_nice(s, job) || cluster_nightly(s->c, job);
}

/* Starts jobs behind the reservation depth that fit beside all places: all of them if something was
 * freed, else new ones. */
static void commons_fill(struct sched *s)
{
	pass_fill_behind(s);
	queue_settle_fresh(s);
	for (size_t i = 0; i < s->line.fresh.n && !s->effort.unfinished; i++) {
		uint32_t job = s->line.fresh.v[i];
		if (!plan_holds(s->p, job) && sched_may(s, job) && !position_keeps(s, cluster_job(s->c, job)) &&
		    pass_start(s, job))
			cycle_tired(s);
	}
	if (!s->effort.unfinished)
		vec_clear(&s->line.fresh);
	migrate_start(s);
}

/* Lets jobs without a place be tried again, because room was left since. */
static void commons_untry(struct sched *s)
{
	const struct queued *e;

	for (struct spot i = {0}; s->effort.tried.n && (e = ranks_next(&s->line.by_key, &i, false)); i.at++)
		cycle_untry(s, e->job);
}

/* Starts jobs whose time has come. Returns true if a limit kept any of them from starting, which
 * leaves room for others. */
static bool start_due(struct sched *s)
{
	bool kept = false;

	s->next_planned = TIME_NEVER;
	s->position.nices = false;
	for (struct spot i = {0}; ranks_next(&s->line.by_key, &i, true);) {
		struct queued e = *ranks_at(&s->line.by_key, &i);
		if (e.planned <= s->now) {
			if (sched_may(s, e.job)) {
				starting_add(s, e.job);
				queue_remove(s, e.job);
			} else {
				queue_line_up(s, e.job);
				kept = true;
			}
			i = ranks_find(&s->line.by_key, e.key, e.job);
			continue;
		}
		s->position.nices |= item_is_nice(s, cluster_job(s->c, e.job));
		if (e.planned < s->next_planned)
			s->next_planned = e.planned;
		i.at++;
	}
	return kept;
}

int64_t sched_planned(const struct sched *s, uint32_t id)
{
	const struct job *job = cluster_job(s->c, id);

	return job_waits(job) && plan_holds(s->p, id) ? plan_piece(s->p, id, 0)->start : TIME_NEVER;
}

void position_pass(struct sched *s)
{
	restarts_settle(s);
	special_drop_missed(s);
	restarts_review(s); /* for jobs that have ended */
	if (s->freed && s->victims.n)
		displace_review(s);
	victims_stop(s);
	nights_stop(s);
	queue_settle(s);
	slices_stop(s);
	restarts_review(s);
	for (size_t i = 0; i < s->line.fresh.n && !s->position.nices; i++)
		s->position.nices = item_is_nice(s, cluster_job(s->c, s->line.fresh.v[i]));
	if (s->position.moved || s->position.recount || s->freed || s->next_planned < s->now) {
		vec_clear(&s->failures); /* jobs that did not fit behind a soft limit may fit now */
		s->fill.due = true;
	}
	if (s->position.moved)
		reorder(s);
	else if (s->position.recount)
		recount(s);
	else if (s->freed || s->next_planned < s->now)
		bring_forward(s);
	if (s->next_planned < s->now)
		s->next_planned = s->now; /* no place is in the past any more */
	s->position.recount = s->position.moved = s->freed = s->stirred = false;
	s->effort.began = s->p->work; /* at least one more job gets its place, whatever the work so far */
	add_specials(s);
	if (!s->effort.unfinished)
		add_commons(s);
	if (!s->effort.unfinished) /* otherwise the next cycle continues at once */
		outage_fill(s);
	while (!s->effort.unfinished && start_due(s)) {
		commons_untry(s);
		add_commons(s);
	}
	if (!s->effort.unfinished)
		commons_fill(s);
	places_tell(s);
}
