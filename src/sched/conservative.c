/*
 * conservative.c - every waiting job has a reservation, and keeps it or gets an earlier one.
 *
 * On submission a job takes the earliest hole. When something was freed, waiting jobs are taken
 * out, in order of arrival, and put back at their earliest place, which is never later than the old
 * one.
 *
 * Most of them cannot move, and that can be seen without taking them out. An earlier place needs
 * enough CPUs from its start until its end or the present start, whichever is first: from there on
 * the job itself holds them. And since the job could not be there before, the place must use some
 * instant that was freed since: one before `dirty`.
 *
 * In a long queue only the first jobs reserve (settings.reserve_depth): the number of jobs that
 * move when one ends early grows with the number of reservations. The others start where they fit
 * beside all reservations. A pass may take several cycles (sched_pace). It continues behind the
 * last job examined, to the end of the queue, whatever is freed meanwhile; that is left to the next
 * pass.
 */
#include "sched/sched_internal.h"

#define STEPS_A_NODE 16 /* steps of the sum that cost as much to examine as a node */

int64_t most_freed(struct sched *s, int64_t from, int64_t until, int64_t most)
{
	int64_t here = from < until ? timeline_most(plan_sum(s->p), from, until) : most;

	return here > most ? here : most;
}

static unsigned closed_at(const struct queued *e)
{
	unsigned bits = 64 - (unsigned)__builtin_clzll((unsigned long long)e->length | 1);

	return ((unsigned)e->cpus * 31 + bits) % CLOSED;
}

static int64_t closed_until(const struct closed *k, const struct queued *e)
{
	unsigned i = closed_at(e);

	return k->cpus[i] == e->cpus && k->length[i] <= e->length && k->planned[i] <= e->planned ? k->before[i]
												 : TIME_BEGIN;
}

static void closed_note(struct closed *k, const struct queued *e, int64_t before)
{
	unsigned i = closed_at(e);

	k->cpus[i] = e->cpus;
	k->length[i] = e->length;
	k->planned[i] = e->planned;
	k->before[i] = before;
}

/* An earlier start remains impossible only if its first length[i] seconds lie before `start`. */
void closed_moved(struct closed *k, int64_t start)
{
	for (unsigned i = 0; i < CLOSED; i++)
		k->before[i] = k->before[i] < start - k->length[i] ? k->before[i] : start - k->length[i];
}

int64_t earlier_start(struct sched *s, const struct queued *e, int64_t dirty, int64_t most, struct closed *k)
{
	struct opening o = {{.v = {e->cpus}}, e->length, e->planned, e->planned < dirty ? e->planned : dirty};
	int64_t from, at;

	s->p->work++;
	if (e->cpus > most)
		return TIME_NEVER;
	from = closed_until(k, e);
	if (from >= o.before)
		return TIME_NEVER;
	from = from > s->now ? from : s->now;
	at = timeline_opening(plan_sum(s->p), from, &o);
	s->p->work += timeline_distance(plan_sum(s->p), from, at < o.before ? at : o.before) / STEPS_A_NODE;
	if (at == TIME_NEVER)
		closed_note(k, e, o.before);
	return at;
}

/* Puts the job of an entry at its earliest place from an instant on, and starts it if that is
 * now. Returns true if it left the queue. The job stays where it is if nothing better is found:
 * with fragments of several shapes, best fit may not even find the present place again. */
static bool conservative_place(struct sched *s, struct queued *e, int64_t from)
{
	plan_mark mark = plan_begin(s->p);
	int64_t at;

	plan_take_job(s->p, e->job);
	at = plan_insert_earliest(s->p, &s->plain, e->job, from, e->length);
	if (at == TIME_NEVER)
		failure_note(s, &s->sweep.nowhere, cluster_job(s->c, e->job), e->length);
	if (at > e->planned && e->planned >= s->now) {
		plan_rollback(s->p, mark);
	} else {
		plan_commit(s->p, mark);
		ranks_plan(&s->line.by_key, e, at);
	}
	if (e->planned == s->now) {
		starting_add(s, e->job);
		queue_remove(s, e->job);
		return true;
	}
	if (e->planned < s->next_planned)
		s->next_planned = e->planned;
	return false;
}

/* Returns true if a job without a place may find one. */
static bool worth_searching(const struct sched *s, uint32_t job, int64_t length, const struct depth *reserved)
{
	return !depth_reached(reserved, cluster_job(s->c, job)) &&
	       !failure_known(s, &s->sweep.nowhere, cluster_job(s->c, job), length);
}

static struct depth reservations(const struct sched *s)
{
	struct depth d = {.most = s->c->settings.reserve_depth};
	const struct queued *e;

	if (!s->line.bound)
		d.common = (int64_t)s->line.by_key.nplanned;
	for (struct spot i = {0}; d.most && s->line.bound && (e = ranks_next(&s->line.by_key, &i, true)); i.at++)
		depth_count(&d, cluster_job(s->c, e->job), 1);
	return d;
}

/* Returns the instant from which it is worth looking for a place for the job of an entry;
 * otherwise takes note of its planned start and returns TIME_NEVER. */
static int64_t worth_placing(struct sched *s, const struct queued *e, int64_t most, const struct depth *reserved,
			     struct closed *k)
{
	int64_t from = s->now;

	if (e->planned == TIME_NEVER)
		return worth_searching(s, e->job, e->length, reserved) ? from : TIME_NEVER;
	if (e->planned > s->now)
		from = earlier_start(s, e, s->sweep.dirty, most, k);
	if (from == TIME_NEVER && e->planned < s->next_planned)
		s->next_planned = e->planned;
	return from;
}

/* Examines the jobs behind the last one examined, until the cycle has done enough. */
static void sweep_on(struct sched *s)
{
	struct sweep *w = &s->sweep;
	struct depth reserved = reservations(s);
	struct closed closed = {0};
	int64_t most = most_freed(s, s->now, w->dirty, 0);
	struct spot i = w->job == JOB_NONE ? (struct spot){0} : ranks_after(&s->line.by_key, w->key, w->job);
	bool tired = false;
	struct queued *at;

	/* behind the reservation depth only jobs that have a place are of interest */
	while (!tired && (at = depth_full(s, &reserved) ? ranks_next(&s->line.by_key, &i, true)
							: ranks_at(&s->line.by_key, &i))) {
		struct queued e = *at;
		w->key = e.key;
		w->job = e.job;
		if (!sched_may(s, e.job)) {
			depth_count(&reserved, cluster_job(s->c, e.job), -(e.planned != TIME_NEVER));
			queue_line_up(s, e.job);
			i = ranks_find(&s->line.by_key, e.key, e.job);
			continue;
		}
		int64_t from = worth_placing(s, &e, most, &reserved, &closed);
		if (from != TIME_NEVER) {
			bool started = conservative_place(s, at, from), moved;

			depth_count(&reserved, cluster_job(s->c, e.job),
				    (!started && at->planned != TIME_NEVER) - (e.planned != TIME_NEVER));
			moved = started || at->planned != e.planned;
			if (moved && e.planned != TIME_NEVER) {
				int64_t end = e.planned + e.length;
				/* elsewhere nothing was freed: `most` remains an upper bound */
				most = most_freed(s, e.planned < w->dirty ? e.planned : w->dirty, end, most);
				w->moved = end > w->moved ? end : w->moved;
				w->dirty = end > w->dirty ? end : w->dirty;
				closed_moved(&closed, e.planned);
			}
			if (started)
				i = ranks_find(&s->line.by_key, e.key, e.job);
			else
				i.at++;
		} else {
			i.at++;
		}
		tired = cycle_tired(s);
	}
	vec_free(&reserved.bound);
	if (tired)
		return;
	w->on = false;
	if (w->moved > s->dirty)
		s->dirty = w->moved; /* earlier jobs have not seen what the moves freed */
}

static void sweep_begin(struct sched *s)
{
	vec_clear(&s->sweep.nowhere);
	s->sweep = (struct sweep){
		.on = true, .job = JOB_NONE, .dirty = s->dirty, .moved = TIME_BEGIN, .nowhere = s->sweep.nowhere};
	s->dirty = TIME_BEGIN; /* what is freed during this sweep is left to the next one */
	s->next_planned = TIME_NEVER;
	s->freed = false;
	s->fill.due = true;
	vec_clear(&s->failures); /* jobs that did not fit behind a soft limit may fit now */
	vec_clear(&s->line.fresh);
}

/* Places new jobs only. */
static void fresh_place(struct sched *s)
{
	struct depth reserved = reservations(s);
	size_t i = 0;

	for (; i < s->line.fresh.n && !s->effort.unfinished; i++) {
		uint32_t job = s->line.fresh.v[i];
		if (plan_holds(s->p, job))
			continue;
		if (!sched_may(s, job))
			queue_line_up(s, job);
		else if (depth_reached(&reserved, cluster_job(s->c, job)))
			pass_start(s, job);
		else if (worth_searching(s, job, queue_get(s, job)->length, &reserved))
			depth_count(&reserved, cluster_job(s->c, job),
				    !conservative_place(s, queue_entry(s, job), s->now) && plan_holds(s->p, job));
		cycle_tired(s);
	}
	vec_free(&reserved.bound);
	if (s->effort.unfinished) {
		for (size_t k = i; k < s->line.fresh.n; k++)
			s->line.fresh.v[k - i] = s->line.fresh.v[k];
		s->line.fresh.n -= i;
		return;
	}
	vec_clear(&s->line.fresh);
}

void conservative_pass(struct sched *s)
{
	if (!s->sweep.on && (s->freed || s->next_planned <= s->now)) {
		if (queue_is_stale(s) && !queue_weigh(s))
			return;
		sweep_begin(s);
	}
	if (s->sweep.on)
		sweep_on(s);
	else if (!s->fill.on)
		fresh_place(s);
	if (!s->sweep.on)
		pass_fill_behind(s);
	/* new jobs may have been sorted in before the position of the sweep */
	if (!s->sweep.on && s->line.fresh.n)
		s->effort.unfinished = true;
}
