/*
 * due.c - our own order of common jobs, the default: due dates that adapt to the machine.
 *
 * At its submission a job gets a *due date*: as long after as jobs of this machine usually run, or a share of the longest
 * wait that was needed so far and of the work that waits, whichever is later; sooner for wide jobs. Until then it can
 * be overtaken; from then on it is served in the order of due dates with firm reservations. The head's reservation is
 * *relaxed* by a share of its distance that shrinks as the head ages: backfill may use it, and what it gains is worth more
 * than the delay. Nothing that was promised (QoS, emergency, starving jobs) is relaxed: their places are in the plan.
 *
 * A pass:
 *	while more than half of the machine is free, the oldest job that needs more than half starts, if its due date is
 *	not much later than the first: wide jobs share a drain;
 *	then overdue jobs by due date, else jobs by key (arrival, wide ones a little earlier), while they fit;
 *	the first that does not fit is the head: one relaxed reservation, or firm ones for up to 8 overdue jobs;
 *	then backfill: small jobs by area, the others by arrival.
 *
 * Everything is relative: to the machine, to finished work, to waits seen. See docs/policies.md for how it was found.
 */
#include <math.h>

#include "sched/sched_internal.h"

#define SPAN_LENGTH 0.6	 /* of the work-weighted mean run time */
#define SPAN_WAIT 0.5	 /* of the longest wait of any started job */
#define SPAN_BACKLOG 0.15 /* of the time that the queue's work would take */
#define SPAN_WIDTH 0.3	 /* a job as wide as the machine is due this share sooner */
#define KEY_WIDTH 1.25	 /* ... and, times sqrt(width), sorts earlier by this many work-weighted mean run times */
#define RELAX 1.5	 /* of the head's distance, when it is young and narrow */
#define SHARE_DRAIN 0.5	 /* of the first job's span: how much later a wide job may be due to share its drain */
#define FIRM_MAX 8	 /* firm reservations of overdue jobs */

static double machine_cpus(const struct sched *s)
{
	return (double)s->c->total.v[RES_CPU];
}

static double work_length(const struct history *h) /* work-weighted mean run time */
{
	return h->work > 0 ? h->work_length / h->work : 0;
}

void due_submit(struct sched *s, struct waiting *w)
{
	struct job *job = cluster_job(s->c, w->job);
	const struct history *h = &s->history;
	double q = (double)cluster_job_request(s->c, job)->total.v[RES_CPU], width = q / machine_cpus(s);
	double backlog = h->work_pred > 0 ? h->queued_pred / machine_cpus(s) * (h->work / h->work_pred) : 0;
	double span = fmax(SPAN_LENGTH * work_length(h), SPAN_WAIT * h->longest_wait + SPAN_BACKLOG * backlog);

	w->pred = history_predict_mixed(s, job);
	w->due = (double)job->submit + span * (1 - SPAN_WIDTH * width);
	w->key = (double)job->submit - KEY_WIDTH * work_length(h) * sqrt(width);
	/* one order for both kinds: small jobs are negative, by area; the others follow by arrival */
	w->fill = history_is_small(h, w->pred * q) ? -1 / (w->pred * q) : (double)w->job;
}

/* Tries to start a job now. */
static bool due_start(struct sched *s, uint32_t job)
{
	int64_t cpus = cluster_job_request(s->c, cluster_job(s->c, job))->total.v[RES_CPU];
	int64_t length = queue_get(s, job)->length;

	if (s->window.version != s->p->version)
		window_build(s);
	return window_allows(&s->window, cpus, s->now + length) && pass_try_now(s, job, length);
}

/* A wide job that may start because the machine is half empty. */
static bool due_share_drain(struct sched *s)
{
	const struct waiting *first = queue_get(s, s->by_due.v[0].job);
	double latest = first->due + SHARE_DRAIN * (first->due - (double)cluster_job(s->c, first->job)->submit);

	if (s->window.version != s->p->version)
		window_build(s);
	if (2 * s->window.cpus[0] <= s->c->total.v[RES_CPU])
		return false;
	for (size_t i = 0; i < s->wide.n; i++) {
		uint32_t job = s->wide.v[i];
		if (cluster_job_request(s->c, cluster_job(s->c, job))->total.v[RES_CPU] <= s->window.cpus[0])
			return queue_get(s, job)->due <= latest && due_start(s, job);
	}
	return false;
}

/* Starts whoever is first for as long as that is possible; then the first is the head. */
static void due_start_heads(struct sched *s)
{
	while (s->by_key.n) {
		uint32_t first;
		if (s->wide.n && due_share_drain(s))
			continue;
		first = s->by_due.v[0].key <= (double)s->now ? s->by_due.v[0].job : s->by_key.v[0].job;
		if (!due_start(s, first)) {
			s->head = first;
			return;
		}
	}
	s->head = JOB_NONE;
}

/* Firm reservations for the jobs that are overdue, in the order of their due dates. */
static void due_reserve_firm(struct sched *s, int overdue)
{
	job_vec jobs = {0};

	for (int i = 0; i < overdue; i++)
		vec_push(&jobs, s->by_due.v[i].job);
	for (size_t i = 0; i < jobs.n; i++) {
		int64_t at = plan_insert_earliest(s->p, &s->plain, jobs.v[i], s->now, queue_get(s, jobs.v[i])->length);
		if (at == s->now) {
			vec_push(&s->starting, jobs.v[i]);
			queue_remove(s, jobs.v[i]);
		} else if (at != TIME_NEVER) {
			vec_push(&s->reserved, jobs.v[i]);
		}
	}
	vec_free(&jobs);
}

/* The head's reservation, later than need be by what its youth and narrowness allow. */
static void due_reserve_head(struct sched *s, bool overdue)
{
	const struct waiting *w = queue_get(s, s->head);
	double submit = (double)cluster_job(s->c, s->head)->submit, age = (double)s->now - submit;
	double width = (double)cluster_job_request(s->c, cluster_job(s->c, s->head))->total.v[RES_CPU] / machine_cpus(s);
	double left = overdue || w->due <= submit ? 0 : fmax(0, 1 - age / (w->due - submit));
	int64_t at = plan_insert_earliest(s->p, &s->plain, s->head, s->now, w->length), later;

	if (at == TIME_NEVER)
		return;
	later = at + (int64_t)(RELAX * sqrt(left) * (1 - width) * (double)(at - s->now));
	if (later > at) {
		plan_take_job(s->p, s->head);
		if (plan_insert_earliest(s->p, &s->plain, s->head, later, w->length) == TIME_NEVER)
			return;
	}
	vec_push(&s->reserved, s->head);
}

static void due_full(struct sched *s)
{
	int overdue = 0;

	s->stats.full_passes++;
	if (s->reserved.n)
		pass_drop_reservations(s);
	if (s->freed)
		vec_clear(&s->failures);
	s->freed = false;
	window_build(s);
	due_start_heads(s);
	if (s->head == JOB_NONE)
		return;
	while (overdue < FIRM_MAX && (size_t)overdue < s->by_due.n && s->by_due.v[overdue].key <= (double)s->now)
		overdue++;
	if (overdue >= 2)
		due_reserve_firm(s, overdue);
	else
		due_reserve_head(s, overdue > 0);
	window_build(s);
	pass_fill(s, &s->by_fill, 0);
}

void due_pass(struct sched *s)
{
	bool full = s->freed || s->head == JOB_NONE || pass_reached(s);

	/* a new job that comes before the head, or that could share a drain, changes more than itself */
	for (size_t i = 0; i < s->fresh.n && !full; i++) {
		const struct waiting *w = queue_get(s, s->fresh.v[i]);
		full = w->key < queue_get(s, s->head)->key && s->by_due.v[0].key > (double)s->now;
	}
	/* as does a job that has become overdue */
	full = full || (s->by_due.n && s->by_due.v[0].key <= (double)s->now && s->by_due.v[0].job != s->head);
	if (full) {
		due_full(s);
	} else {
		for (size_t i = 0; i < s->fresh.n; i++)
			due_start(s, s->fresh.v[i]);
	}
	vec_clear(&s->fresh);
}
