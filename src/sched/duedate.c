/*
 * duedate.c - computes a job's due date and sort keys: docs/policies.md.
 */
#include "sched/sched_internal.h"
#include <math.h>

#define SPAN_LENGTH 0.6	 /* share of the work-weighted mean run time */
#define SPAN_WAIT 0.5	 /* share of the longest wait of any started job */
#define SPAN_BACKLOG 0.2 /* share of the time that the queue's work would take */
/* a job of width w (share of the machine) has its span reduced by this times w^2 */
#define SPAN_WIDTH 0.7
/* a job of width w sorts earlier by this many mean run times, times sqrt(w) */
#define KEY_WIDTH 1.25

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

void due_submit(struct sched *s, struct waiting *w)
{
	struct job *job = cluster_job(s->c, w->job);
	const struct history *h = &s->history;
	double q = (double)cluster_job_request(s->c, job)->total.v[RES_CPU], width = job_width(s, w->job);
	double backlog = h->work_pred > 0 && machine_cpus(s) > 0
				 ? h->queued_pred / machine_cpus(s) * (h->work / h->work_pred)
				 : 0;
	double span = fmax(SPAN_LENGTH * work_length(h), SPAN_WAIT * h->longest_wait + SPAN_BACKLOG * backlog);

	w->pred = history_predict_mixed(s, job);
	w->due = job->rank + span * (1 - SPAN_WIDTH * width * width);
	w->key = job->rank - KEY_WIDTH * work_length(h) * sqrt(width);
	/* one order for both kinds: small jobs have negative keys, by area; the others follow by
	 * arrival */
	w->fill = history_is_small(h, w->pred * q) ? -1 / (w->pred * q) : job->rank;
}
