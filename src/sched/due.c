/*
 * due.c - the default order of common jobs: due dates that adapt to the machine.
 *
 * On submission a job gets a *due date*. Its distance is the usual run time of jobs on this
 * machine, or a share of the longest wait so far plus a share of the waiting work, whichever is
 * longer; it is shorter for wide jobs. Until its due date a job can be overtaken; from then on it
 * is served in the order of due dates with firm reservations.
 *
 * A reservation is *relaxed*: made later than necessary, so that backfill can use what it would
 * leave idle. By how much depends on what is at stake: much for a head that is young and narrow, or
 * where much would be idle for a job of little area; nothing for a job whose wait comes near the
 * longest. Promises (QoS, emergency, starving jobs) are never relaxed: their places are in the plan
 * before a pass begins.
 *
 * A pass:
 * - While more than half of the machine is free, the oldest job that needs more than half starts,
 *   if its due date is not much later than the first: wide jobs share a drain.
 * - Then overdue jobs start by due date, or else jobs by key (arrival, wide ones a little earlier),
 *   as long as they fit.
 * - The first that does not fit is the head: it gets a relaxed reservation, or the first overdue
 *   jobs get one each.
 * - Then backfill: small jobs by area, the others by arrival.
 *
 * Everything is relative: to the machine, to finished work, to waits seen. docs/policies.md
 * describes how it was found.
 */
#include <math.h>

#include "sched/cursor.h"
#include "sched/sched_internal.h"

/* share of the longest wait at which relaxation ends, for a job that has or would have waited
 * that long */
#define RELAX_UNTIL 0.8
/* factor by which idle processor-seconds count less than the area of the waiting job */
#define RELAX_AREA 4
/* how long after the first job's due date drains are shared, as a share of its span */
#define SHARE_UNTIL 1.0
/* maximum reservations of overdue jobs on several nodes, where each searches all of them */
#define FIRM_NODES 2
#define AHEAD 8 /* distance at which a scan prefetches jobs */
/* backfill before a young head is tested with walltime x (prediction / walltime)^this */
#define SHORTEN 0.2

/* Returns true if the window leaves room for a job now. */
static bool due_fits(struct sched *s, uint32_t job)
{
	int64_t cpus = cluster_job_request(s->c, cluster_job(s->c, job))->total.v[RES_CPU];

	window_renew(s);
	return window_allows(&s->window, cpus, s->now + queue_get(s, job)->length);
}

static bool due_start(struct sched *s, uint32_t job)
{
	return due_fits(s, job) && pass_try_now(s, job, queue_get(s, job)->length);
}

/* Starts a wide job, if one may start because the machine is half empty. */
static bool due_share_drain(struct sched *s)
{
	const struct waiting *first = queue_get(s, ranks_nth(&s->line.by_due, 0)->job);
	double span = first->due - (double)cluster_job(s->c, first->job)->submit;

	window_renew(s);
	if (2 * s->window.cpus[0] <= s->c->total.v[RES_CPU] || (double)s->now > first->due + SHARE_UNTIL * span)
		return false;
	for (size_t i = 0; i < s->line.wide.n; i++) {
		uint32_t job = s->line.wide.v[i];
		if (cluster_job_request(s->c, cluster_job(s->c, job))->total.v[RES_CPU] <= s->window.cpus[0] &&
		    !fences_too_early(s, job))
			return queue_get(s, job)->due <= first->due + s->due.rule.share_drain * span &&
			       due_start(s, job);
	}
	return false;
}

/* Returns the first job of a list whose key is at most `until`, skipping jobs that wait for
 * their reservations to begin. */
static uint32_t due_first_of(const struct sched *s, const struct ranks *r, double until)
{
	const struct queued *e;

	for (struct spot i = {0}; (e = ranks_at(r, &i)) && e->key <= until; i.at++)
		if (!s->line.bound || !fences_too_early(s, e->job))
			return e->job;
	return JOB_NONE;
}

static uint32_t due_first(const struct sched *s)
{
	uint32_t overdue = due_first_of(s, &s->line.by_due, (double)s->now);

	return overdue != JOB_NONE ? overdue : due_first_of(s, &s->line.by_key, INFINITY);
}

/* Adds the first jobs of a list that may get their nodes together: those that are overdue, or
 * those that are not. Returns false if another job comes first. */
static bool due_lead(struct sched *s, const struct ranks *r, bool overdue, queued_vec *ret)
{
	const struct queued *e;

	for (struct spot i = {0}; ret->n < COVER_JOBS && (e = ranks_at(r, &i)); i.at++) {
		if ((queue_get(s, e->job)->due <= (double)s->now) != overdue) {
			if (overdue)
				break;
			continue;
		}
		if (s->line.bound && fences_too_early(s, e->job))
			continue;
		if (!pass_cover_takes(s, e))
			return false;
		vec_push(ret, *e);
	}
	return true;
}

/* Starts the first jobs on nodes that are chosen for them together. Returns true if any starts. */
static bool due_cover(struct sched *s)
{
	queued_vec lead = {0};
	bool any;

	window_renew(s);
	if (due_lead(s, &s->line.by_due, true, &lead))
		due_lead(s, &s->line.by_key, false, &lead);
	any = pass_cover(s, &lead);
	vec_free(&lead);
	return any;
}

/* Starts the first job as long as that is possible; the first that cannot start is the head. */
static void due_start_heads(struct sched *s)
{
	size_t waiting = s->line.by_key.n;
	bool covered = !s->policy->cover;

	while (s->line.by_key.n && (s->line.by_key.n == waiting || !cycle_tired(s))) {
		uint32_t first = due_first(s);
		if (first == JOB_NONE)
			break;
		if (!sched_may(s, first)) {
			queue_line_up(s, first);
			continue;
		}
		if (s->line.wide.n && due_share_drain(s))
			continue;
		if (!covered) {
			covered = true;
			if (due_cover(s))
				continue;
		}
		if (!due_start(s, first)) {
			s->head = first;
			return;
		}
	}
	s->head = JOB_NONE;
}

/* Returns the share of its distance by which a reservation at `at` may slip. It is smaller the
 * less the job has left of the longest wait, and the less would be idle compared with its own
 * area. */
static double due_slack(const struct sched *s, uint32_t id, int64_t at)
{
	const struct job *job = cluster_job(s->c, id);
	double bound = RELAX_UNTIL * s->history.longest_wait, distance = (double)(at - s->now);
	double left = bound - (double)(at - job->submit);
	double idle = (double)s->due.idle_now * distance;
	double area = (double)job->walltime * (double)cluster_job_request(s->c, job)->total.v[RES_CPU];

	if (left <= 0 || distance <= 0)
		return 0;
	return fmin(s->due.rule.relax * sqrt(left / bound) * idle / (idle + RELAX_AREA * area), left / distance);
}

/* Reserves the earliest place for a job, or one later by the relaxation. A place at now starts
 * it. */
static void due_reserve(struct sched *s, uint32_t job, double relax)
{
	int64_t length = queue_get(s, job)->length, at, later;

	if (!sched_may(s, job)) { /* the limit has just been reached */
		queue_line_up(s, job);
		return;
	}
	/* reservations push no other job but starts do, so try to start it first */
	if (job != s->head && s->plain.push_depth && s->p->loose && due_start(s, job))
		return;
	at = pass_earliest(s, job, s->now, length);
	if (at == TIME_NEVER)
		return;
	if (at == s->now) {
		starting_add(s, job);
		queue_remove(s, job);
		if (s->head == job)
			s->head = JOB_NONE;
		return;
	}
	later = at + (int64_t)(fmax(relax, due_slack(s, job, at)) * (double)(at - s->now));
	if (later > at) {
		plan_take_job(s->p, job);
		if (pass_earliest(s, job, later, length) == TIME_NEVER)
			return;
	}
	vec_push(&s->reserved, job);
}

/* Collects the first overdue jobs by due date, at most FIRM_MAX; returns how many. */
static int due_overdue(const struct sched *s, uint32_t jobs[FIRM_MAX])
{
	int n = 0, most = s->p->nnodes == 1 ? s->due.rule.firm : FIRM_NODES;
	const struct queued *e;

	for (struct spot i = {0}; n < most && (e = ranks_at(&s->line.by_due, &i)) && e->key <= (double)s->now; i.at++)
		if (!s->line.bound || !fences_too_early(s, e->job))
			jobs[n++] = e->job;
	return n;
}

static int due_count(const struct sched *s)
{
	uint32_t jobs[FIRM_MAX];

	return due_overdue(s, jobs);
}

/* Reserves places for the overdue jobs, in the order of their due dates. */
static void due_reserve_overdue(struct sched *s)
{
	uint32_t jobs[FIRM_MAX];
	int overdue = due_overdue(s, jobs);

	for (int i = 0; i < overdue; i++)
		due_reserve(s, jobs[i], 0);
}

/* Returns 1 for a head that was just submitted, 0 for one that is overdue. */
static double due_youth(const struct sched *s)
{
	const struct waiting *w = queue_get(s, s->head);
	double submit = (double)cluster_job(s->c, s->head)->submit, span = w->due - submit;

	return s->due.overdue || span <= 0 ? 0 : sqrt(fmax(0, 1 - ((double)s->now - submit) / span));
}

static void due_reserve_all(struct sched *s)
{
	s->due.overdue = due_count(s);
	s->due.idle_now = timeline_at(plan_sum(s->p), s->now)[1 + RES_CPU];
	if (s->due.overdue >= 2)
		due_reserve_overdue(s);
	else /* one for the head: the younger and narrower, the more relaxed */
		due_reserve(s, s->head, s->due.rule.relax * due_youth(s) * (1 - job_width(s, s->head)));
	window_build(s);
}

/* Subtracts a job that is expected to end at `end` from the window. */
static void window_take(struct window *w, int64_t cpus, int64_t end)
{
	for (int i = 0; i < w->n; i++) {
		if (i == 0 || w->until[i - 1] < end)
			w->cpus[i] -= cpus;
		if (w->cpus[i] > w->cpus[0])
			w->cpus[i] = w->cpus[0];
	}
}

/* Backfills before a young head. A job that is likely to end in time may start although its
 * walltime says that it might not. The head's reservation is then given up for this pass, and
 * only the window remembers it. */
static void due_fill_shortened(struct sched *s, double shorten, struct spot i)
{
	bool given_up = false, started = false;
	const struct queued *next;

	while (s->window.cpus[0] > 0 && (next = ranks_at(&s->line.by_fill, &i))) {
		struct queued e = *next;
		/* once the reservation is given up, the contents of the window would be lost */
		if (!given_up && (started ? cycle_tired(s) : pass_fill_tired(s))) {
			pass_fill_leave(s, next, next->key);
			break;
		}
		s->p->work++;
		started = false;
		const struct queued *ahead = ranks_ahead(&s->line.by_fill, &i, AHEAD);
		if (ahead) /* jobs are far apart in memory: cache misses took half of the pass */
			__builtin_prefetch(&cluster_job(s->c, ahead->job)->request);
		if (!sched_may(s, e.job) && e.job != s->head) {
			queue_line_up(s, e.job);
			i = ranks_find(&s->line.by_fill, e.key, e.job);
			continue;
		}
		int64_t end = s->now + e.length;
		bool fits = e.cpus <= s->window.cpus[0] && e.job != s->head;
		if (fits && !window_allows(&s->window, e.cpus, end)) {
			double share = queue_get(s, e.job)->pred / (double)e.length;
			end = s->now + (int64_t)ceil((double)e.length * pow(share, shorten));
			fits = window_allows(&s->window, e.cpus, end);
			if (fits && !given_up) {
				plan_take_job(s->p, s->head);
				vec_clear(&s->reserved);
				given_up = true;
			}
		}
		s->window.exact &= !given_up;
		if (!fits || !pass_try_now(s, e.job, e.length)) {
			i.at++;
			continue;
		}
		started = true;
		i = ranks_find(&s->line.by_fill, e.key, e.job);
		if (given_up)
			window_take(&s->window, e.cpus, end);
		else
			window_build(s);
	}
	if (given_up)
		s->window.version = s->p->version;
}

static void due_fill(struct sched *s)
{
	double shorten = SHORTEN * due_youth(s);

	if (shorten <= 0 || s->reserved.n != 1) {
		if (s->fill.on)
			pass_fill_resume(s);
		else
			pass_fill(s, &s->line.by_fill);
	} else if (s->fill.on) {
		s->fill.on = false;
		if (!s->fill.over)
			due_fill_shortened(s, shorten, ranks_find(&s->line.by_fill, s->fill.key, s->fill.job));
	} else {
		struct cursor i;
		cursor_open(&i, s, &s->line.by_fill);
		if (pass_fill_cover(s, &i))
			due_fill_shortened(s, shorten, (struct spot){0});
		cursor_close(&i);
	}
	s->effort.filling = s->effort.unfinished;
}

static void due_full(struct sched *s)
{
	s->stats.full_passes++;
	s->fill.again = s->fill.on ? s->fill.again + 1 : 0;
	s->fill.on = false;
	do {
		if (s->reserved.n)
			places_drop(s);
		if (s->freed || pass_reached(s))
			vec_clear(&s->failures);
		s->freed = false;
		window_build(s);
		due_start_heads(s);
		if (s->head == JOB_NONE)
			return;
		due_reserve_all(s);
	} while (s->head == JOB_NONE); /* the earliest place of the head was now: there is another head */
	due_fill(s);
}

/* Considers only new jobs, because nothing was freed. Reservations relax less as time passes, so
 * a job that does not fit beside those of the last pass does not fit at all; one that does is
 * tried again beside new ones. */
static void due_fresh(struct sched *s)
{
	bool renewed = false;

	pass_sort_fresh(s);
	for (size_t i = 0; i < s->line.fresh.n; i++) {
		uint32_t job = s->line.fresh.v[i], head = s->head;
		if (!sched_may(s, job) && job != head) {
			queue_line_up(s, job);
			continue;
		}
		if (job == head || plan_holds(s->p, job) || !due_fits(s, job))
			continue;
		if (!renewed && s->p->nnodes == 1) { /* on several nodes that costs more than it gains */
			places_drop(s);
			s->head = head;
			s->freed = false;
			due_reserve_all(s);
			renewed = true;
			if (s->head == JOB_NONE) { /* the head starts: another job comes first */
				due_full(s);
				return;
			}
		}
		if (!plan_holds(s->p, job) && /* one of the new reservations may be its own */
		    due_start(s, job) && !renewed && cycle_tired(s)) {
			s->effort.filling = true;
			break;
		}
	}
}

void due_pass(struct sched *s)
{
	bool full = s->freed || s->head == JOB_NONE || pass_reached(s) || due_count(s) != s->due.overdue ||
		    !sched_may(s, s->head),
	     filling = s->effort.filling;

	s->effort.filling = false;
	/* a new job ahead of the head affects more than itself */
	for (size_t i = 0; i < s->line.fresh.n && !full && !s->due.overdue; i++)
		full = queue_before(s, s->line.fresh.v[i], s->head);
	if (full) {
		due_full(s);
	} else {
		bool resumes = s->fill.on;
		if (filling) {
			window_build(s);
			due_fill(s);
			queue_settle_fresh(s); /* it may have started some of them */
		}
		if (s->fill.on)
			return;
		if (!filling || resumes)
			due_fresh(s);
	}
	vec_clear(&s->line.fresh);
}
