/*
 * duedate.c - computes a job's due date and sort keys: docs/policies.md.
 */
#include "sched/sched_internal.h"
#include <math.h>

#define SPAN_LENGTH 0.6 /* share of the work-weighted mean run time */
#define SPAN_WAIT 0.5	/* share of the longest wait of any started job */

/* Share of the finished work in jobs of more than a quarter of the machine above which they are
 * common, and below which they are rare again. */
#define WIDE_ABOVE 0.264
#define WIDE_BELOW 0.216
#define YOUNG 300 /* number of finished jobs below which due dates have nothing to go by */
/* Until then a job is due after this many times the time that all present work would take. */
#define YOUNG_SPAN 1.5
#define YOUNG_WIDTH 0.5 /* fraction by which that is shorter for a job as wide as the machine */
#define REVIEW 86400	/* seconds between two checks whether wide jobs are common */
#define LATER_UNTIL 0.9 /* share of EASY's longest wait at which spans are no longer extended */

/* The rule where wide jobs are rare. */
static const struct due_rule rare = {
	.span_backlog = 0.2,
	.span_width = 0.7,
	.key_width = 1.25,
	.relax = 1.5,
	.share_drain = 0.3,
	.firm = 8,
};

double machine_cpus(const struct sched *s)
{
	return (double)s->c->total.v[RES_CPU];
}

/* Returns the share of the machine that a job asks for, at most 1. Nodes may be down, even all
 * of them. */
double job_width(const struct sched *s, uint32_t job)
{
	double q = (double)cluster_job_request(s->c, cluster_job(s->c, job))->total.v[RES_CPU];

	return q < machine_cpus(s) ? q / machine_cpus(s) : 1;
}

/* Returns the work-weighted mean run time in seconds. */
static double work_length(const struct history *h)
{
	return h->work > 0 ? h->work_length / h->work : 0;
}

/* Returns the rule where wide jobs are common. What they gain follows from what the order has
 * gained so far beside a shadow of EASY: they give back what the slowdown of others lost, and
 * come earlier where their own turnaround needs it and the others can pay. */
static struct due_rule rule_common(const struct sched *s)
{
	int64_t jobs;
	struct shadow_sums x = shadow_ratios(s->due.shadow, &jobs);
	double favour = 1, need = 0;

	if (jobs) {
		favour = fmin(1, exp(20 * (x.area - fmax(x.turnaround, x.slowdown + 0.05))));
		need = fmin(x.area - 0.96, x.area - fmax(x.turnaround, x.slowdown)) / 0.03;
		need = fmax(0, fmin(1, need));
	}
	return (struct due_rule){
		.span_backlog = 0.3 - 0.2 * need,
		.span_runs = 1.8 * favour,
		.span_least = 0.2,
		.key_width = 0.45 + 2 * need,
		.relax = 1.2 + need,
		.share_drain = 0.35 * favour,
		.firm = FIRM_MAX,
	};
}

/* Returns how much longer spans are, up to 1, where the mean turnaround has become longer than
 * EASY's and the longest wait has not come near EASY's: many jobs that are overdue have many firm
 * reservations, which cost most where walltimes say little. */
static double spans_later(const struct sched *s)
{
	int64_t jobs;
	struct shadow_sums x = shadow_ratios(s->due.shadow, &jobs);
	double lost = x.turnaround - fmax(1, x.area);

	return lost > 0 && s->history.longest_wait <= LATER_UNTIL * x.longest ? 1 - exp(-20 * lost) : 0;
}

/* Returns true if wide jobs do much of the work. */
static bool wide_common(const struct sched *s)
{
	double share = s->history.work > 0 ? s->history.work_wide / s->history.work : 0;

	if (s->policy->wide != WIDE_OBSERVED)
		return s->policy->wide == WIDE_COMMON;
	return share > (s->due.wide ? WIDE_BELOW : WIDE_ABOVE);
}

void due_tune(struct sched *s)
{
	if (s->now >= s->due.review) {
		s->due.wide = wide_common(s);
		s->due.review = s->now + REVIEW;
	}
	if (s->due.shadow) { /* a copy keeps what its original had */
		shadow_advance(s->due.shadow, s->now, s->c->total.v[RES_CPU]);
		s->due.later = spans_later(s);
	}
	if (!s->due.wide)
		s->due.rule = rare;
	else if (s->due.shadow)
		s->due.rule = rule_common(s);
}

static void follow(struct sched *s, const struct job *job, int64_t when)
{
	shadow_wait(s->due.shadow, job->id, when, cluster_job_request(s->c, job)->total.v[RES_CPU],
		    sched_length(s, job));
}

void due_follow(struct sched *s, const struct job *job)
{
	if (job->state == STATE_HELD)
		return;
	follow(s, job, job->submit);
	if (!job_waits(job))
		shadow_start(s->due.shadow, job->id, job->start);
}

void due_watch(struct sched *s, const struct job *job, enum event_type type, bool waited)
{
	if (type == EVENT_START)
		shadow_start(s->due.shadow, job->id, s->now);
	else if (!waited && job_ended(job))
		shadow_finish(s->due.shadow, job->id, s->now);
	else if (!waited && job_waits(job))
		follow(s, job, s->now);
	else if (waited && !job_waits(job))
		shadow_leave(s->due.shadow, job->id);
}

/* Returns the processor-seconds that the plan has given away from now on, without reservations of
 * waiting common jobs. */
static double work_planned(struct sched *s)
{
	const struct timeline *t = plan_sum(s->p);
	int64_t level = timeline_at(t, TIME_NEVER)[1 + RES_CPU], from = s->now;
	double work = 0;

	for (struct walk w = timeline_walk(t, s->now); w.step;) {
		int64_t taken = level - w.step[1 + RES_CPU];
		if (!walk_next(&w))
			break;
		work += (double)taken * (double)(w.step[0] - from);
		from = w.step[0];
	}
	for (size_t i = 0; i < s->reserved.n; i++) {
		const struct job *job = cluster_job(s->c, s->reserved.v[i]);
		work -= (double)sched_length(s, job) * (double)cluster_job_request(s->c, job)->total.v[RES_CPU];
	}
	return fmax(0, work);
}

/* Ranks a job while few jobs have finished: the shortest first. It is due after YOUNG_SPAN times
 * the longer of two times: its own, and that in which the machine would do all present work. If
 * weight decided instead of walltime, wide jobs would wait until nothing is left to run beside
 * them. */
static void due_young(struct sched *s, struct waiting *w, const struct job *job)
{
	double q = (double)cluster_job_request(s->c, job)->total.v[RES_CPU], width = job_width(s, w->job);

	if (s->due.planned_version != s->p->version || s->due.planned_at != s->now) {
		s->due.planned = work_planned(s);
		s->due.planned_version = s->p->version;
		s->due.planned_at = s->now;
	}
	/* it returns, after a hold or a start that failed: what waits was submitted after it */
	bool back = job->rank < s->due.newest_rank || (job->rank == s->due.newest_rank && job->id < s->due.newest);
	double work = s->due.planned + (back ? 0 : s->history.queued_pred) + w->pred * q;
	double span = YOUNG_SPAN * fmax(w->pred, machine_cpus(s) > 0 ? work / machine_cpus(s) : 0);

	w->key = w->fill = -1 / fmax(1, (double)job->walltime);
	w->due = job->rank + span * (1 - YOUNG_WIDTH * width * width);
	if (!back) {
		s->due.newest = job->id;
		s->due.newest_rank = job->rank;
	}
}

void due_submit(struct sched *s, struct waiting *w)
{
	struct job *job = cluster_job(s->c, w->job);
	const struct history *h = &s->history;
	double q = (double)cluster_job_request(s->c, job)->total.v[RES_CPU], width = job_width(s, w->job);
	double backlog = h->work_pred > 0 && machine_cpus(s) > 0
				 ? h->queued_pred / machine_cpus(s) * (h->work / h->work_pred)
				 : 0;
	const struct due_rule *r = &s->due.rule;
	double span = fmax(SPAN_LENGTH * work_length(h), SPAN_WAIT * h->longest_wait + r->span_backlog * backlog);
	double earlier = (r->span_width * span + r->span_runs * work_length(h)) * width * width;

	w->pred = history_predict_mixed(s, job);
	if (h->finished < YOUNG) {
		due_young(s, w, job);
		return;
	}
	w->due = job->rank + (1 + s->due.later) * fmax(r->span_least * span, span - earlier);
	w->key = job->rank - r->key_width * work_length(h) * sqrt(width);
	/* one order for both kinds: small jobs have negative keys, by area; the others follow by
	 * arrival */
	w->fill = history_is_small(h, w->pred * q) ? -1 / (w->pred * q) : job->rank;
}
