/*
 * special.c - starving, QoS and emergency jobs: where deadlines are kept (docs/scheduling.md).
 *
 * A QoS job reserves as late as its deadline allows. From then on it is *guaranteed*: no common or
 * starving job may remove it, pushes move it between nodes but never in time, and only an emergency
 * job with the power takes its place.
 */
#include <stdlib.h>

#include "base/keysort.h"
#include "sched/sched_internal.h"

#define STARVE_MOST 500 /* maximum jobs that become starving in a paced cycle */
/* nodes examined for another place of a guaranteed job; beyond that the next cycle continues */
#define REPLACE_WORK 50000

void special_tell(struct sched *s, plan_mark mark, uint32_t by)
{
	job_vec touched = {0};
	VEC(int64_t) before = {0}; /* planned ends before the transaction */

	plan_touched(s->p, mark, &touched);
	for (size_t i = 0; i < touched.n; i++)
		vec_push(&before, plan_end_before(s->p, mark, touched.v[i]));
	plan_commit(s->p, mark);
	for (size_t i = 0; i < touched.n; i++) {
		const struct job *job = cluster_job(s->c, touched.v[i]);
		if (job->id == by)
			continue;
		if (plan_holds(s->p, job->id)) {
			if (job->state == STATE_ALLOCATED)
				sched_emit(s, EVENT_ALLOCATE, job->id, job->start, by);
			else if (job->state == STATE_RUNNING || job->state == STATE_NOW)
				victims_note(s, job->id, by, before.v[i]);
			continue;
		}
		sched_refresh(s);
		sched_emit(s,
			   job->state == STATE_RUNNING ? EVENT_PREEMPT
			   : job->state == STATE_NOW   ? EVENT_START_FAILED
						       : EVENT_DEALLOCATE,
			   job->id, 0, by);
	}
	vec_free(&touched);
	vec_free(&before);
}

/* Returns true if places in the plan can be promised: not where running jobs are planned to end
 * before their walltimes. */
static bool special_promises(const struct sched *s)
{
	return s->policy->know != KNOW_PREDICTION;
}

void special_allocate(struct sched *s, uint32_t id, int64_t start, plan_mark mark)
{
	const struct job *job = cluster_job(s->c, id);
	/* A job that has a place without a guarantee may be waiting for a victim to end that is no
	 * longer in the plan. */
	bool in_time = job->state == STATE_CANDIDATE && victims_in_time(s, mark, start);

	special_tell(s, mark, id);
	sched_emit(s, EVENT_ALLOCATE, id, start, JOB_NONE);
	s->stirred = true;
	if (job->deadline != TIME_NEVER && !job->guaranteed && in_time && special_promises(s))
		sched_emit(s, EVENT_GUARANTEE, id, 0, JOB_NONE);
}

/* Prepares a search that ends when the cycle has done enough. Sets *from to where the last cycle
 * left off, if it began this search. */
static struct search *search_begin(struct sched *s, struct search *x, uint32_t job, unsigned may, int64_t *from)
{
	if (!s->effort.pace)
		return NULL;
	if (s->effort.search.job == job && s->effort.search.may == may)
		*from = s->effort.search.next;
	s->effort.search.job = JOB_NONE;
	*x = (struct search){.stop = s->effort.began + s->effort.pace, .next = TIME_NEVER};
	return x;
}

/* Returns true if the search ended without an answer; the cycle then also ends. */
static bool search_pauses(struct sched *s, const struct search *x, uint32_t job, unsigned may)
{
	if (!x || x->next == TIME_NEVER)
		return false;
	s->effort.search.job = job;
	s->effort.search.may = may;
	s->effort.search.next = x->next;
	s->effort.unfinished = true;
	return true;
}

/* Places a job as late as its deadline allows, removing jobs covered by `may`. Returns false if
 * there is no place, or the cycle ends first. */
static bool place_latest(struct sched *s, uint32_t id, unsigned may)
{
	const struct job *job = cluster_job(s->c, id);
	struct manner m = s->plain;
	struct search x;
	plan_mark mark = plan_begin(s->p);
	int64_t until = cluster_until(job), at;

	m.may_remove = may;
	m.search = search_begin(s, &x, id, may, &until);
	at = plan_insert_latest(s->p, &m, id, s->now, until, sched_length(s, job));
	if (at == TIME_NEVER) {
		plan_rollback(s->p, mark);
		search_pauses(s, m.search, id, may);
		return false;
	}
	special_allocate(s, id, at, mark);
	return true;
}

bool special_replace(struct sched *s, uint32_t id)
{
	const struct job *job = cluster_job(s->c, id);
	struct search x = {.stop = s->p->work + REPLACE_WORK, .next = TIME_NEVER};
	struct manner m = s->plain;
	plan_mark mark = plan_begin(s->p);
	int64_t at;

	m.may_remove = REMOVE_STARVING;
	m.search = &x;
	at = plan_insert_latest(s->p, &m, id, s->now, cluster_until(job), sched_length(s, job));
	if (at == TIME_NEVER) {
		plan_rollback(s->p, mark);
		return false;
	}
	special_allocate(s, id, at, mark);
	return true;
}

unsigned special_granted(const struct job *job)
{
	static const struct {
		unsigned power, may;
	} table[] = {
		{POWER_SC_ALLOC, REMOVE_CRITICAL},    {POWER_Q_ALLOC, REMOVE_QOS},
		{POWER_E_ALLOC, REMOVE_EMERGENCY},    {POWER_C_EXEC, REMOVE_RUN_COMMON},
		{POWER_S_EXEC, REMOVE_RUN_STARVING},  {POWER_Q_EXEC, REMOVE_RUN_QOS},
		{POWER_E_EXEC, REMOVE_RUN_EMERGENCY},
	};
	unsigned may = REMOVE_STARVING;

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (job->powers & table[i].power)
			may |= table[i].may;
	return may;
}

/* Returns true if a job arrived, or returned, since the last cycle. */
static bool special_is_new(const struct sched *s, uint32_t job)
{
	for (size_t i = 0; i < s->newcomers.n; i++)
		if (s->newcomers.v[i] == job)
			return true;
	return false;
}

/* Places a job as late as possible but in time. A new emergency job may use its powers if there
 * is no other way. */
static void place_in_time(struct sched *s, const struct job *job)
{
	unsigned may = special_granted(job);
	bool forceful = job->kind == KIND_EMERGENCY && may != REMOVE_STARVING && special_is_new(s, job->id);

	if (forceful && s->effort.search.job == job->id && s->effort.search.may == may)
		place_latest(s, job->id, may);
	else if (!place_latest(s, job->id, REMOVE_STARVING) && !s->effort.unfinished && forceful)
		place_latest(s, job->id, may);
}

/* Places candidates of one kind that have a deadline, FIFO. A deadline that can no longer be met
 * ends the job. */
static void place_deadlines(struct sched *s, enum job_kind kind)
{
	bool asked = false;
	job_vec list = {0};

	for (size_t i = 0; i < s->special.n; i++) {
		const struct job *job = cluster_job(s->c, s->special.v[i]);
		if (job->kind == kind && job->state == STATE_CANDIDATE)
			vec_push(&list, job->id);
	}
	for (size_t i = 0; i < list.n; i++) {
		const struct job *job = cluster_job(s->c, list.v[i]);
		if (cycle_tried(s, job->id, TRIED_PLACE))
			continue;
		if (asked && cycle_tired(s))
			break;
		asked = true;
		if (cluster_latest(s->c, job) < s->now)
			sched_emit(s, EVENT_EXPIRE, job->id, 0, JOB_NONE);
		else if (sched_may(s, job->id))
			place_in_time(s, job);
		if (s->effort.unfinished)
			break;
		cycle_try(s, job->id, TRIED_PLACE);
	}
	vec_free(&list);
}

/* Returns how many more jobs may become starving. In a long queue their number is limited
 * (settings.reserve_depth): each is considered in every cycle, and the others can still
 * overtake. */
static int64_t starving_room(const struct sched *s)
{
	int64_t room = s->c->settings.reserve_depth;

	if (room == 0)
		return INT64_MAX;
	for (size_t i = 0; i < s->special.n && room > 0; i++)
		room -= cluster_job(s->c, s->special.v[i])->kind == KIND_STARVING;
	return room;
}

bool special_full(const struct sched *s)
{
	return starving_room(s) == 0;
}

bool special_asks(const struct sched *s)
{
	for (size_t i = 0; i < s->special.n; i++) {
		uint32_t job = s->special.v[i];
		if (cluster_job(s->c, job)->state == STATE_CANDIDATE && sched_may(s, job) &&
		    !cycle_tried(s, job, TRIED_PLACE))
			return true;
	}
	return false;
}

/* Returns true if the job starves. Otherwise the entry is stale, or the job does not wait
 * because of the scheduler. */
static bool starves(const struct sched *s, const struct heap_item *x)
{
	const struct job *job = cluster_job(s->c, (uint32_t)x->tie);

	return job->state == STATE_CANDIDATE && job->kind == KIND_COMMON && job->attempt == x->value &&
	       !queue_in_line(s, job->id) && !job->bound; /* the scheduler is not the cause of its wait */
}

/* Takes places that were not promised out of the plan for the duration of the transaction. */
static void unpromised_take(struct sched *s)
{
	const struct queued *e;

	for (size_t i = 0; i < s->reserved.n; i++)
		plan_take_job(s->p, s->reserved.v[i]);
	for (struct spot i = {0}; (e = ranks_next(&s->line.by_key, &i, true)); i.at++)
		plan_take_job(s->p, e->job);
}

enum keep sched_would_keep(struct sched *s, uint32_t id, int64_t now, uint64_t work, int64_t *until)
{
	const struct job *job = cluster_job(s->c, id);
	struct search x = {.stop = s->p->work + work, .next = TIME_NEVER};
	struct manner m = s->plain;
	int64_t length = sched_length(s, job), at;
	plan_mark mark;

	if (cluster_latest(s->c, job) < now || !sched_may(s, id) || !special_promises(s))
		return KEEP_NO;
	m.may_remove = job->kind == KIND_EMERGENCY ? special_granted(job) : REMOVE_STARVING;
	m.search = work ? &x : NULL;
	mark = plan_begin(s->p);
	unpromised_take(s);
	at = plan_insert_latest(s->p, &m, id, now, *until + job->ending, length);
	bool in_time = at != TIME_NEVER && victims_in_time(s, mark, at);
	plan_rollback(s->p, mark);
	plan_forget(s->p, id); /* the next job may have another number of fragments */
	if (at == TIME_NEVER && x.next != TIME_NEVER) {
		*until = x.next - job->ending;
		return KEEP_UNKNOWN;
	}
	return in_time ? KEEP_YES : KEEP_NO;
}

int64_t sched_soonest(struct sched *s, uint32_t id, int64_t now, uint64_t work)
{
	const struct job *job = cluster_job(s->c, id);
	struct search x = {.stop = s->p->work + work, .next = TIME_NEVER};
	struct limit_need need = sched_need(s, job);
	struct manner m = s->plain;
	int64_t length = sched_length(s, job), at;
	struct limit_reached r;
	plan_mark mark;

	if (!sched_may(s, id) && !(limits_reached(s->limits, job->limits, &need, &r) && r.measure >= LIMIT_CREDIT))
		return TIME_NEVER;
	m.may_remove = job->kind == KIND_EMERGENCY ? special_granted(job) : REMOVE_STARVING;
	m.search = &x;
	mark = plan_begin(s->p);
	unpromised_take(s);
	at = plan_insert_earliest(s->p, &m, id, now, length);
	plan_rollback(s->p, mark);
	plan_forget(s->p, id);
	return at == TIME_NEVER ? TIME_NEVER : at + cluster_run(s->c, job);
}

void special_starve(struct sched *s)
{
	struct heap_item x;
	int64_t room = -1;
	uint64_t left = s->effort.pace && s->effort.pace < STARVE_MOST ? s->effort.pace : STARVE_MOST;

	while (heap_peek(&s->line.patience, &x) && x.time <= s->now) {
		if (!starves(s, &x)) {
			heap_pop(&s->line.patience, &x);
			continue;
		}
		room = room < 0 ? starving_room(s) : room;
		if (room == 0)
			break;
		if (s->effort.pace && left-- == 0) {
			s->effort.unfinished = true;
			break;
		}
		heap_pop(&s->line.patience, &x);
		room--;

		uint32_t job = (uint32_t)x.tie;

		if (plan_holds(s->p, job))
			places_drop(s); /* its own place was a transient one */
		if (s->head == job)
			s->freed = true;
		sched_emit(s, EVENT_STARVE, job, 0, JOB_NONE);
	}
}

/* Returns how starving jobs are placed: they push at most one deep. With deeper pushes, wide
 * jobs would start a little earlier at the cost of many small ones (mean response with QoS jobs
 * 7% worse at depth 2). */
static struct manner starving_manner(const struct sched *s)
{
	struct manner m = s->plain;

	if (m.push_depth > 1)
		m.push_depth = 1;
	return m;
}

/* Gives a starving job its earliest place; if that is later than now, it is a reservation. */
static bool place_starving(struct sched *s, const struct job *job, bool may_wait)
{
	int64_t length = sched_length(s, job), at = s->now, from = s->now;
	struct manner m = starving_manner(s);
	struct search x;
	plan_mark mark = plan_begin(s->p);

	m.search = search_begin(s, &x, job->id, 0, &from);
	if (may_wait)
		at = plan_insert_earliest(s->p, &m, job->id, from > s->now ? from : s->now, length);
	else if (!plan_insert(s->p, &m, job->id, s->now, s->now + length))
		at = TIME_NEVER;
	if (at == TIME_NEVER) {
		plan_rollback(s->p, mark);
		search_pauses(s, m.search, job->id, 0);
		return false;
	}
	special_allocate(s, job->id, at, mark);
	return true;
}

/* Moves a reserved starving job to now, if necessary replacing younger ones that do not start
 * now. */
static void starving_to_now(struct sched *s, const struct job *job)
{
	if (cluster_job_request(s->c, job)->total.v[RES_CPU] > s->p->free_sum)
		return; /* no job that it may remove holds anything at this instant */

	struct manner m = starving_manner(s);
	plan_mark mark = plan_begin(s->p);

	m.may_remove = REMOVE_STARVING;
	m.only_younger = true;
	plan_take_job(s->p, job->id);
	if (plan_insert(s->p, &m, job->id, s->now, s->now + sched_length(s, job)))
		special_allocate(s, job->id, s->now, mark);
	else
		plan_rollback(s->p, mark);
}

/* Tries to place a starving job. Returns true if it was tried and has no place: then it drains
 * the machine, if the policy says so. */
static bool starving_place(struct sched *s, const struct job *job, bool reserved)
{
	bool may_wait = s->policy->starve == STARVE_ALL || s->policy->starve == STARVE_QUEUE ||
			(s->policy->starve == STARVE_OLDEST && !reserved);

	if (job->state != STATE_CANDIDATE || !sched_may(s, job->id))
		return false;
	if (cycle_tried(s, job->id, TRIED_PLACE))
		return true;
	bool placed = place_starving(s, job, may_wait);

	if (!s->effort.unfinished)
		cycle_try(s, job->id, TRIED_PLACE);
	return !placed && !s->effort.unfinished;
}

/* Places those of the list that have no place. Returns false if the cycle ends early. */
static bool starvings_place(struct sched *s, const job_vec *list)
{
	bool reserved = false;

	for (size_t i = 0; i < list->n && !s->drain; i++) {
		const struct job *job = cluster_job(s->c, list->v[i]);
		bool asks =
			job->state == STATE_CANDIDATE && sched_may(s, job->id) && !cycle_tried(s, job->id, TRIED_PLACE);
		if (starving_place(s, job, reserved) && s->policy->starve == STARVE_DRAIN)
			s->drain = true;
		if (job->state == STATE_ALLOCATED && job->start > s->now)
			reserved = true;
		if (asks && cycle_tired(s))
			return false;
	}
	return true;
}

static bool starvings_to_now(struct sched *s, const job_vec *list)
{
	for (size_t i = 0; i < list->n && s->freed; i++) {
		const struct job *job = cluster_job(s->c, list->v[i]);
		if (job->state != STATE_ALLOCATED || job->start <= s->now || cycle_tried(s, job->id, TRIED_NOW))
			continue;
		cycle_try(s, job->id, TRIED_NOW);
		starving_to_now(s, job);
		if (cycle_tired(s))
			return false;
	}
	return true;
}

/* Lets jobs without a place be tried once more. */
static void starvings_forget(struct sched *s, const job_vec *list)
{
	for (size_t i = 0; i < list->n && s->effort.pace; i++)
		cycle_untry(s, list->v[i]);
}

/* Places starving jobs, oldest first: now if possible, otherwise as the policy says. */
static void place_starvings(struct sched *s)
{
	job_vec list = {0};
	int *step = &s->effort.starving;

	for (size_t i = 0; i < s->special.n; i++)
		if (cluster_job(s->c, s->special.v[i])->kind == KIND_STARVING)
			vec_push(&list, s->special.v[i]);
	if (*step == 0 && starvings_place(s, &list))
		++*step;
	if (*step == 1 && starvings_to_now(s, &list)) {
		starvings_forget(s, &list);
		++*step;
	}
	if (*step == 2 && starvings_place(s, &list)) /* jobs that were removed by the moves */
		++*step;
	vec_free(&list);
}

void special_drop_missed(struct sched *s)
{
	for (size_t i = 0; i < s->special.n; i++) {
		const struct job *job = cluster_job(s->c, s->special.v[i]);
		int64_t needs = sched_length(s, job) - s->c->settings.tolerance;
		if (job->state != STATE_ALLOCATED || s->now + needs <= plan_piece(s->p, job->id, 0)->end ||
		    (cluster_nights_short(s->c, job) && s->now <= job->start))
			continue;
		plan_take_job(s->p, job->id);
		sched_emit(s, EVENT_DEALLOCATE, job->id, 0, JOB_NONE);
		sched_refresh(s);
	}
}

/* Keeps only newcomers that a limit kept from being tried. */
static void newcomers_end(struct sched *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->newcomers.n; i++)
		if (sched_limited(s, s->newcomers.v[i]))
			s->newcomers.v[n++] = s->newcomers.v[i];
	s->newcomers.n = n;
}

void special_place(struct sched *s)
{
	special_drop_missed(s);
	victims_review(s);
	if (special_asks(s) || s->freed)
		places_drop(s); /* places that were not promised make room */
	place_deadlines(s, KIND_EMERGENCY);
	if (!s->effort.unfinished)
		place_deadlines(s, KIND_QOS);
	if (!s->effort.unfinished)
		place_starvings(s);
	victims_stop(s);
	if (!s->effort.unfinished)
		newcomers_end(s);
}

void special_to_now(struct sched *s)
{
	/* nothing was freed and no new job was reserved, so they have been tried already */
	if (!s->stirred)
		return;
	s->stirred = false;

	VEC(struct keyed) list = {0};

	for (int kind = KIND_QOS; kind <= KIND_EMERGENCY; kind++) {
		vec_clear(&list);
		for (size_t i = 0; i < s->special.n; i++) {
			const struct job *job = cluster_job(s->c, s->special.v[i]);
			if (job->kind != kind || job->state != STATE_ALLOCATED || job->start <= s->now)
				continue;
			if (!cycle_tried(s, job->id, TRIED_NOW))
				vec_push(&list, (struct keyed){.key = cluster_weight(s->c, job), .tie = job->id});
		}
		keyed_sort(list.v, list.n);
		for (size_t i = 0; i < list.n && !s->effort.unfinished; i++) {
			uint32_t id = list.v[i].tie;
			cycle_try(s, id, TRIED_NOW);
			plan_mark mark = plan_begin(s->p);
			plan_take_job(s->p, id);
			victims_release(s);
			if (plan_insert(s->p, &s->plain, id, s->now, s->now + sched_length(s, cluster_job(s->c, id)))) {
				special_allocate(s, id, s->now, mark);
				sched_refresh(s); /* its old place is free */
			} else {
				plan_rollback(s->p, mark);
			}
			cycle_tired(s);
		}
	}
	s->stirred |= s->effort.unfinished;
	vec_free(&list);
}
