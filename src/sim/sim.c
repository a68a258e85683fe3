/*
 * sim.c - the event loop in virtual time.
 */
#include "sim/sim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/heap.h"
#include "plan/near.h"
#include "rules/admit.h"
#include "rules/amounts.h"
#include "rules/leave.h"
#include "rules/partition.h"
#include "rules/weigh.h"
#include "sched/entrance.h"
#include "sim/ask.h"
#include "sim/machine.h"
#include "sim/terms.h"

struct sim {
	struct topology *topology; /* measures the switches of jobs; NULL: not measured */
	double spans;		   /* sum of switches over the starts of jobs of several nodes */
	int64_t spanning;	   /* number of those starts */
	const struct workload *w;
	struct cluster *c;
	struct plan *p;
	struct sched *sched;
	const struct sim_options *o;
	struct terms terms;
	/* The site or the workload has rules. Then the scheduler also decides again after jobs
	 * have started, as the server does when their start is confirmed. A plain trace skips
	 * all of this. */
	bool ruled;
	struct simulated *outcome;
	struct heap ends;   /* (end, job | attempt) of running jobs */
	VEC(int64_t) index; /* job id -> position in the workload */
	VEC(uint32_t) id;   /* START orders to confirm after the cycle */
	/* by request: 0: not tested yet, else 1 + enum fit of whether it could ever run */
	VEC(uint8_t) could;
	struct heap due;      /* (planned end, job | attempt) of running jobs, if there are rules */
	VEC(job_vec) of_user; /* by user: jobs that have not ended, if some have priorities */
	struct sim_result *ret;
	int64_t now;
	int64_t ended;
};

void sim_options_init(struct sim_options *o)
{
	*o = (struct sim_options){.push_depth = -1};
	settings_default(&o->settings);
}

double real_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct simulated *outcome_of(struct sim *m, uint32_t job)
{
	return &m->outcome[m->index.v[job]];
}

/* Counts the switches that a job of several nodes spans. */
static void span_count(struct sim *m, const struct event *e)
{
	VEC(uint32_t) leaf = {0};
	bool several = false;

	for (uint32_t i = 0; m->topology && i < e->nnodes; i++) {
		vec_push(&leaf, topology_leaf(m->topology, names_get(&m->c->node_names, (uint32_t)e->nodes[i])));
		several |= e->nodes[i] != e->nodes[0];
	}
	if (several) {
		m->spans += near_span(leaf.v, (uint32_t)leaf.n);
		m->spanning++;
	}
	vec_free(&leaf);
}

/* Scales a run time to the nodes of a job, of which the slowest counts; returns it unchanged
 * unless the workload says that speeds matter. */
static int64_t scaled(const struct sim *m, uint32_t job, int64_t run)
{
	uint32_t speed = SPEED_MAX;

	if (!m->w->speeds)
		return run;
	for (uint32_t i = 0; i < plan_hold(m->p, job)->nfrags; i++) {
		uint32_t x = m->c->nodes.v[plan_place(m->p, job, i)->node].speed;
		speed = x < speed ? x : speed;
	}
	return (run * SPEED_USUAL + speed - 1) / speed;
}

int64_t sim_overrun(int64_t id, int64_t most)
{
	return most ? (int64_t)((uint64_t)id * 2654435761u % (uint64_t)(most + 1)) : 0;
}

/* Sets the end of a started job: its run time, unless it is killed at walltime + tolerance
 * first. */
static void on_start(struct sim *m, const struct event *e)
{
	struct simulated *x = outcome_of(m, e->job);
	int64_t run = scaled(m, e->job, m->w->jobs.v[m->index.v[e->job]].runtime - x->saved);

	if (x->share) /* its control group gives it no more */
		run = (run * x->procs * SHARE_CPU + x->share - 1) / x->share;

	int64_t limit = x->estimate + m->c->settings.tolerance;

	span_count(m, e);
	x->killed = run > limit;
	x->over = run >= x->estimate ? sim_overrun(x->id, m->o->overrun) : 0;
	run = run < limit && !x->over ? run : limit;
	terms_started(&m->terms, m->p, e->job);
	x->start = e->time;
	x->runtime = x->saved + run + x->over;
	x->end = e->time + run + x->over;
	heap_push(&m->ends, x->end, (uint64_t)e->job, cluster_job(m->c, e->job)->attempt);
	if (m->ruled)
		heap_push(&m->due, e->at, (uint64_t)e->job, cluster_job(m->c, e->job)->attempt);
	vec_push(&m->id, e->job);
}

/* Returns a job's exit status; a killed job has failed. */
static int exit_status(const struct sim *m, uint32_t job)
{
	const struct wjob *j = &m->w->jobs.v[m->index.v[job]];

	return m->outcome[m->index.v[job]].killed ? 271 : j->terms ? m->w->terms.v[j->terms - 1].exit : 0;
}

static void job_ended_here(struct sim *m, uint32_t job, int status)
{
	if (!m->ruled)
		return;
	gate_ended(m->terms.gate, job, status);
	terms_leave(&m->terms, &m->w->jobs.v[m->index.v[job]], job);
}

/* Returns how a running job leaves for an interactive one, by the rules of the site. */
static struct leave leave_now(const struct sim *m, uint32_t job)
{
	int64_t saving = cluster_job(m->c, job)->saving;

	if (!m->o->site)
		return (struct leave){.takes = saving, .saves = saving > 0};
	return leave_of(&m->o->site->attrs, saving, cluster_job(m->c, job)->ending, m->now);
}

static struct yield yield_of(void *context, uint32_t job)
{
	struct leave x = leave_now(context, job);

	return (struct yield){.takes = x.takes, .from = x.from};
}

/* Counts the work of a stopped job as saved in a checkpoint, from which it continues, or as
 * lost. */
static void on_stopped(const struct sim *m, const struct event *e, struct simulated *x)
{
	bool left = e->by != JOB_NONE && cluster_job(m->c, e->by)->interactive;
	bool saves = left ? leave_now(m, e->job).saves : cluster_job(m->c, e->job)->saving > 0;

	*(saves ? &x->saved : &x->lost) += e->time - x->start;
	x->preemptions += x->preemptions < UINT8_MAX;
	x->start = x->end = -1;
	x->runtime = x->saved;
	x->over = 0;
	x->killed = false;
}

static void on_event(void *context, const struct event *e)
{
	struct sim *m = context;
	struct simulated *x = outcome_of(m, e->job);
	enum job_kind by = e->by == JOB_NONE ? KIND_COMMON : cluster_job(m->c, e->by)->kind;

	switch ((enum event_type)e->type) {
	case EVENT_START:
		on_start(m, e);
		break;
	case EVENT_GUARANTEE:
		x->guaranteed = true;
		break;
	case EVENT_DEALLOCATE:
		if (x->guaranteed && by == KIND_EMERGENCY)
			/* cleared again if the job meets its deadline nevertheless */
			x->broken_by_power = true;
		break;
	case EVENT_PREEMPT:
		terms_stopped(&m->terms, e->job, x->start, e->time);
		on_stopped(m, e, x);
		if (x->guaranteed && by == KIND_EMERGENCY)
			x->broken_by_power = true;
		break;
	case EVENT_MIGRATE:
		if (m->ruled)
			heap_push(&m->due, e->at, (uint64_t)e->job, cluster_job(m->c, e->job)->attempt);
		if (e->by == JOB_NONE || by != KIND_COMMON)
			break; /* it stays there with a new planned end; its actual end is the same */
		x->end += m->c->settings.migrate_cost;
		heap_push(&m->ends, x->end, (uint64_t)e->job, cluster_job(m->c, e->job)->attempt);
		break;
	case EVENT_STARTED:
		if (m->ruled)
			gate_started(m->terms.gate, e->job);
		break;
	case EVENT_FINISH:
		m->ended++;
		terms_stopped(&m->terms, e->job, x->start, e->time);
		terms_charge(&m->terms, m->c, e->job, e->time - x->start);
		job_ended_here(m, e->job, exit_status(m, e->job));
		break;
	case EVENT_DELETE:
	case EVENT_EXPIRE:
		m->ended++;
		job_ended_here(m, e->job, -3);
		break;
	default:
		break;
	}
	if (m->o->listener)
		m->o->listener(m->o->listener_context, e);
}

/* Releases jobs that nothing blocks any more, and deletes those whose dependencies can't be
 * satisfied. Returns true if a job was released. */
static bool open_gate(struct sim *m)
{
	bool any = false;
	uint32_t job;
	int news;

	while (m->ruled && (news = terms_news(&m->terms, m->now, &job)) != 0) {
		if (news < 0)
			sched_delete(m->sched, job, m->now, NULL);
		else if (cluster_job(m->c, job)->state == STATE_HELD)
			sched_release(m->sched, job, m->now);
		any |= news > 0;
	}
	return any;
}

/* Extends the plan of jobs that are still running at their planned ends, so that they keep their
 * resources. A plain trace treats them as gone, as the literature does. Returns true if there
 * were any. */
static bool overruns(struct sim *m)
{
	struct heap_item x;
	bool any = false;

	while (m->ruled && heap_peek(&m->due, &x) && x.time <= m->now) {
		const struct job *job = cluster_job(m->c, (uint32_t)x.tie);
		heap_pop(&m->due, &x);
		if (job->state == STATE_RUNNING && job->attempt == x.value &&
		    plan_piece(m->p, job->id, 0)->end <= m->now)
			any |= sched_overrun(m->sched, job->id, m->now + SCHED_OVERRUN, m->now);
	}
	return any;
}

/* Lets the scheduler decide once. */
static bool decide(struct sim *m)
{
	overruns(m);
	open_gate(m);
	return sched_cycle(m->sched, m->now);
}

/* Confirms all orders to start; returns true if there were any. */
static bool confirm(struct sim *m)
{
	bool any = m->id.n;

	for (size_t i = 0; i < m->id.n; i++)
		sched_started(m->sched, m->id.v[i], m->now);
	vec_clear(&m->id);
	return any;
}

static void cycle(struct sim *m)
{
	bool done, started;

	do {
		done = decide(m);
		started = confirm(m);
	} while (open_gate(m) || !done || (m->ruled && started));
	if (m->o->check) {
		plan_check(m->p);
		for (uint32_t i = 0; i < m->c->jobs.n; i++)
			job_check(cluster_job(m->c, i));
	}
}

/* Decides if the empty machine could hold a request, with the reason if not. A positive answer
 * is remembered for requests without partitions and node sets. */
static enum fit could_hold(struct sim *m, const struct ask *ask, bool scatter, struct err *err)
{
	while (m->could.n <= ask->request)
		vec_push(&m->could, 0);
	if (m->could.v[ask->request] <= 1 + FIT_NO || m->c->partitions.n || ask->allowed != NODES_ALL)
		m->could.v[ask->request] = (uint8_t)(1 + ask_fit(m->c, ask, scatter, err));
	return (enum fit)(m->could.v[ask->request] - 1);
}

/* Expresses processors in terms of the machine's nodes: whole nodes of the largest size, and a
 * remainder. */
static struct reqtext procs_text(const struct cluster *c, int64_t procs, struct chunk chunk[2])
{
	struct reqtext text;
	int64_t largest = 1;

	for (size_t i = 0; i < c->nodes.n; i++)
		if (c->nodes.v[i].total.v[RES_CPU] > largest)
			largest = c->nodes.v[i].total.v[RES_CPU];
	reqtext_init(&text);
	text.chunk = chunk;
	memset(chunk, 0, 2 * sizeof *chunk);
	if (procs >= largest)
		chunk[text.nchunks++] = (struct chunk){.count = procs / largest, .need = {.v = {largest}}};
	if (procs % largest)
		chunk[text.nchunks++] = (struct chunk){.count = 1, .need = {.v = {procs % largest}}};
	return text;
}

/* What was determined for a job on acceptance. */
struct taken {
	struct ask ask;
	uint32_t queue;
	int64_t walltime;
	struct access access;
};

/* Computes what a job requests in a queue of the site, counted from 1. A site has no defaults
 * for what a partition determines. */
static int ask_in_queue(struct sim *m, const struct reqtext *text, uint32_t queue, struct ask *ask, struct err *err)
{
	int rc = ask->parted ? 0 : cluster_request(m->c, text, &ask->request, err);

	if (rc == 0)
		ask->allowed = cluster_nodeset_both(
			m->c, ask->allowed, queue_nodes(m->c, &m->o->site->queues.v[queue - 1].attrs, ask->parted));
	return rc;
}

struct fitting {
	struct sim *m;
	struct ask ask;
	bool scatter;
};

/* Returns 0 if the nodes of a queue that a routing queue leads to could hold the job, as the
 * server checks. */
static int queue_fits(void *context, const char *queue, const struct reqtext *text, struct err *err)
{
	struct fitting *f = context;
	struct ask ask = f->ask;
	int rc = ask_in_queue(f->m, text, (uint32_t)ruleset_find(f->m->o->site, queue) + 1, &ask, err);

	if (rc < 0)
		return rc;
	return could_hold(f->m, &ask, f->scatter, err) == FIT_YES ? 0 : -EINVAL;
}

/* Applies the rules of the site: finds the job's queue, and what it requests there. */
static int admit_job(struct sim *m, const struct wjob *w, bool scatter, struct taken *ret, struct err *err)
{
	struct chunk chunk[2];
	int64_t procs = w->procs ? w->procs : m->c->requests.v[ret->ask.request].total.v[RES_CPU];
	struct reqtext text = w->text >= 0 ? m->w->texts.v[w->text] : procs_text(m->c, procs, chunk);
	struct fitting fitting = {m, ret->ask, scatter};
	struct taken_in in;
	int rc;

	text.estimate = workload_estimate(m->w, w);
	text.walltime = w->assumed ? -1 : w->walltime;
	rc = terms_admit(&m->terms, w, &text, queue_fits, &fitting, &in, err);
	if (rc < 0)
		return rc;
	ret->queue = in.queue;
	ret->access = in.access;
	ret->walltime = in.text.walltime > 0 ? in.text.walltime : 1;
	rc = ask_in_queue(m, &in.text, in.queue, &ret->ask, err);
	if (rc < 0)
		return rc;

	/* credits matter only when it is about to start */
	struct limit_need need = limit_need_of(&m->c->requests.v[ret->ask.request],
					       cluster_most_cpus(m->c, ret->ask.request, ret->ask.allowed),
					       ret->walltime, &(struct charge){0}, 0);

	return terms_limits(&m->terms, w, ret->queue, &ret->access, &need, err);
}

static void note_refusal(struct refusals *r, const struct wjob *w, int64_t jobs, const struct err *why)
{
	int i = 0;

	r->jobs += jobs;
	while (i < r->n && strcmp(r->reason[i].why, why->text) != 0)
		i++;
	if (i == REFUSALS_MAX)
		return;
	if (i == r->n) {
		r->reason[r->n++] = (struct refused_for){.first = w->id, .line = w->line};
		snprintf(r->reason[i].why, sizeof r->reason[i].why, "%s", why->text);
	}
	r->reason[i].jobs += jobs;
}

/* Refuses a job that could only expire, as a site does. */
static int in_time(const struct sim *m, const struct wjob *w, const struct policy *policy, int64_t walltime,
		   struct err *err)
{
	int64_t from = w->terms ? m->w->terms.v[w->terms - 1].start : 0;

	if (!policy->deadlines || policy->position || w->interactive)
		return 0;
	return admit_deadline(w->deadline, from > w->submit ? from : w->submit, walltime + m->c->settings.tolerance,
			      err);
}

/* Computes the share of a shared node that a job would have; returns false if it can't have one. */
static bool part_of(struct sim *m, const struct wjob *w, const struct policy *policy, uint32_t request,
		    struct libra_part *ret, uint32_t *ret_request)
{
	struct libra_terms price = bank_terms(&m->terms.bank, w);

	if (!m->o->shared || !m->o->shared->n || !price.estimate || policy->position ||
	    !libra_divide(&price, request_cpus(&m->c->requests.v[request]), ret))
		return false;
	*ret_request = cluster_request_divided(m->c, request, ret->share);
	plan_widen(m->p);
	return *ret_request != UINT32_MAX;
}

/* Returns true if a job of the workload, or an array of them, is accepted by the site's rules
 * and fits the machine. */
static bool accept(struct sim *m, const struct wjob *w, int64_t jobs, const struct policy *policy, struct taken *ret)
{
	struct err why;
	enum fit fit;
	int rc;

	*ret = (struct taken){.walltime = w->walltime};
	rc = ask_of(m->c, m->w, w, &ret->ask, &why);
	if (rc == 0 && ((m->o->site && (admit_job(m, w, policy->scatter, ret, &why) < 0 ||
					in_time(m, w, policy, ret->walltime, &why) < 0)) ||
			(m->ruled && terms_depend(&m->terms, w, &why) < 0))) {
		note_refusal(&m->ret->unruled, w, jobs, &why);
		return false;
	}
	struct libra_terms price = bank_terms(&m->terms.bank, w);

	if (rc == 0 &&
	    bank_admit(&m->terms.bank, &price, ret->access.account, &m->c->requests.v[ret->ask.request], &why) < 0) {
		note_refusal(&m->ret->unruled, w, jobs, &why);
		return false;
	}
	if (rc == 0) {
		struct ask divided = ret->ask;
		struct libra_part part;
		fit = could_hold(m, &ret->ask, policy->scatter, &why);
		if (fit == FIT_NO && part_of(m, w, policy, ret->ask.request, &part, &divided.request))
			fit = could_hold(m, &divided, policy->scatter, &why);
		m->ret->unsure += fit == FIT_UNKNOWN ? jobs : 0;
		rc = fit == FIT_NO ? -EINVAL : 0;
	}
	if (rc < 0)
		note_refusal(&m->ret->unfit, w, jobs, &why);
	return rc == 0;
}

static uint32_t add(struct sim *m, int64_t i, const struct policy *policy, const struct taken *taken)
{
	const struct wjob *w = &m->w->jobs.v[i];
	struct job *job = cluster_add_job(m->c);

	job->request = taken->ask.request;
	job->allowed = taken->ask.allowed;
	job->nice = w->nice;
	job->saving = w->checkpoint;
	job->user = w->user;
	job->walltime = policy->know == KNOW_RUNTIME && w->runtime < taken->walltime ? w->runtime : taken->walltime;
	if (policy->deadlines) {
		job->kind = w->kind;
		job->powers = w->powers;
		job->interactive = w->interactive;
		job->deadline = w->deadline;
	}
	m->outcome[i].estimate = taken->walltime;
	m->outcome[i].procs = m->c->requests.v[taken->ask.request].total.v[RES_CPU];
	vec_push(&m->index, i);
	if (m->ruled)
		terms_fill(&m->terms, w, taken->queue, &taken->access, job);
	job->ending = m->o->site ? leave_ending(terms_delay(&m->terms, job->id), job->saving, 0) : 0;
	if (job->ending < m->o->overrun)
		job->ending = m->o->overrun;
	if (m->of_user.n)
		vec_push(&m->of_user.v[w->user], job->id);
	return job->id;
}

/* Redistributes the ranks of a user's waiting jobs by priority, as the server does for each new
 * job. */
static void reorder(struct sim *m, uint32_t user)
{
	job_vec *all = &m->of_user.v[user];
	VEC(struct rung) rungs = {0};
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct job *job = cluster_job(m->c, all->v[i]);
		if (job_ended(job))
			continue;
		all->v[n++] = job->id;
		if (job->state <= STATE_ALLOCATED) {
			struct rung rung = {job->rank, terms_priority(&m->terms, &m->w->jobs.v[m->index.v[job->id]]),
					    job->id};
			vec_push(&rungs, rung);
		}
	}
	all->n = n;
	weigh_share(rungs.v, rungs.n);
	for (size_t i = 0; i < rungs.n; i++) {
		struct job *job = cluster_job(m->c, rungs.v[i].job);
		bool waits = job_waits(job);
		if (job->rank == rungs.v[i].rank)
			continue;
		if (waits)
			sched_rank_begin(m->sched, job->id, m->now);
		job->rank = rungs.v[i].rank;
		if (waits) {
			sched_readmit(m->sched, job->id, m->now);
			sched_rank(m->sched);
		}
	}
	vec_free(&rungs);
}

/* Gives a job a share of a shared node, if its deadline can be guaranteed there. */
static bool shared(struct sim *m, const struct wjob *w, uint32_t id, const struct policy *policy)
{
	struct job *job = cluster_job(m->c, id);
	struct simulated *x = outcome_of(m, id);
	uint32_t before = job->request;
	int64_t walltime = job->walltime, until = w->deadline;
	struct libra_part part;

	if (!part_of(m, w, policy, before, &part, &job->request)) {
		job->request = before;
		return false;
	}
	job->walltime = part.walltime;
	if (sched_would_keep(m->sched, id, m->now, 0, &until) == KEEP_YES) {
		x->share = part.share;
		x->estimate = part.walltime;
		return true;
	}
	job->request = before;
	job->walltime = walltime;
	return false;
}

/* Returns true if the deadline of a job with a budget can be guaranteed, else refuses the job.
 * Policies that give each job a position are not asked. */
static bool guaranteed(struct sim *m, const struct wjob *w, uint32_t id, const struct policy *policy)
{
	int64_t until = w->deadline;
	struct err why;

	if (!cluster_job(m->c, id)->has_price || policy->position)
		return true;
	decide(m); /* the server does this before it checks */
	if (policy->deadlines && shared(m, w, id, policy))
		return true;
	if (policy->deadlines && sched_would_keep(m->sched, id, m->now, 0, &until) == KEEP_YES)
		return true;
	err_set(&why, -EPERM, "%s",
		policy->deadlines ? "the deadline of a job with a budget can't be guaranteed"
				  : "the policy keeps no deadlines, which a job with a budget needs");
	note_refusal(&m->ret->unruled, w, 1, &why);
	terms_refuse(&m->terms, w, id);
	outcome_of(m, id)->procs = 0; /* like jobs that were never accepted */
	if (m->of_user.n)
		m->of_user.v[w->user].n--;
	return false;
}

/* Submits a job, or all elements of an array, if they are accepted; returns the number of jobs
 * processed. */
static int64_t submit(struct sim *m, int64_t i, const struct policy *policy, bool *ret_accepted)
{
	const struct wjob *w = &m->w->jobs.v[i];
	int64_t n = w->terms && m->w->terms.v[w->terms - 1].array.count ? m->w->terms.v[w->terms - 1].array.count : 1;
	uint32_t first = m->c->jobs.n;
	struct taken taken;

	*ret_accepted = accept(m, w, n, policy, &taken);
	if (!*ret_accepted)
		return n;
	for (int64_t k = 0; k < n; k++)
		add(m, i + k, policy, &taken);
	if (!guaranteed(m, w, first, policy)) {
		*ret_accepted = false;
		return n;
	}
	for (uint32_t id = first; id < m->c->jobs.n; id++) {
		sched_submit(m->sched, id, m->now);
		if (!m->ruled)
			continue;
		if (terms_enter(&m->terms, &m->w->jobs.v[m->index.v[id]], id, m->now) == DEPEND_IMPOSSIBLE)
			sched_delete(m->sched, id, m->now, NULL);
		else if (gate_blocks(m->terms.gate, id))
			sched_hold(m->sched, id, m->now);
	}
	if (m->of_user.n) {
		if (w->kind != KIND_COMMON && policy->deadlines)
			decide(m); /* the server reports at once if a deadline is kept */
		reorder(m, w->user);
	}
	return n;
}

/* Returns the next end that is still valid: not that of a preempted attempt, or one from before
 * a migration. */
static bool next_end(struct sim *m, struct heap_item *ret)
{
	while (heap_peek(&m->ends, ret)) {
		const struct job *job = cluster_job(m->c, (uint32_t)ret->tie);
		if (job->state == STATE_RUNNING && job->attempt == ret->value &&
		    outcome_of(m, job->id)->end == ret->time)
			return true;
		heap_pop(&m->ends, ret);
	}
	return false;
}

/* Weekly reservations recur for ever. A job that has not started after this many of their begins
 * and ends never will. */
#define IDLE_WAKES 500

static void run(struct sim *m, const struct policy *policy)
{
	int64_t next = 0, n = (int64_t)m->w->jobs.n;
	int idle = 0;
	bool accepted;

	for (;;) {
		struct heap_item end;
		bool ends = next_end(m, &end);
		int64_t wake = sched_next_wake(m->sched), at = wake;
		int64_t opens = m->ruled ? terms_next(&m->terms) : TIME_NEVER;

		if (ends && end.time <= at)
			at = end.time;
		if (next < n && m->w->jobs.v[next].submit <= at)
			at = m->w->jobs.v[next].submit;
		if (opens < at)
			at = opens;
		idle = ends || next < n ? 0 : idle + 1;
		if (at == TIME_NEVER || idle > IDLE_WAKES)
			break;
		if (at > m->now)
			m->now = at;
		if (opens <= m->now) { /* events due to time alone come first */
			if (m->terms.lays <= m->now)
				terms_lay(&m->terms, m->now);
		} else if (next < n && m->w->jobs.v[next].submit <= m->now) {
			next += submit(m, next, policy, &accepted);
			/* even for a refused job, a server has noticed the time, and perhaps
			 * started others before it answered */
			if (!accepted && !overruns(m) && !confirm(m))
				continue;
		} else if (ends && end.time <= m->now) {
			heap_pop(&m->ends, &end);
			sched_finish(m->sched, (uint32_t)end.tie, m->now, NULL);
			if (m->o->progress && m->ended % 1024 == 0)
				m->o->progress(m->o->progress_context, m->ended);
		}
		terms_advance(&m->terms, m->now);
		cycle(m);
	}
}

static void judge(struct sim *m)
{
	for (uint32_t id = 0; id < m->c->jobs.n; id++) {
		enum job_state state = cluster_job(m->c, id)->state;
		outcome_of(m, id)->kept = state == STATE_HELD || state == STATE_DELETED;
	}
	for (int64_t i = 0; i < (int64_t)m->w->jobs.n; i++) {
		struct simulated *x = &m->outcome[i];
		bool met = x->deadline == TIME_NEVER || (x->start >= 0 && x->end - x->over <= x->deadline);
		x->broken = x->guaranteed && !met;
		x->broken_by_power = x->broken && x->broken_by_power;
	}
}

static int64_t victim_takes(void *context, uint32_t job)
{
	const struct job *x = cluster_job(((const struct sim *)context)->c, job);

	return leave_takes(x->saving, x->ending);
}

static double mean_wait(const struct sim_result *r)
{
	double sum = 0;
	int64_t n = 0;

	for (int64_t i = 0; i < r->n; i++)
		if (r->outcome[i].start >= 0) {
			sum += (double)(r->outcome[i].start - r->outcome[i].submit);
			n++;
		}
	return n ? sum / (double)n : 0;
}

/* Measures nearness with the topology, and by another run without it. */
static int nearness_compute(const struct sim *m, const struct policy *policy, struct sim_result *ret, struct err *err)
{
	struct sim_options o = *m->o;
	struct sim_result other;
	int rc = 0;

	ret->near = (struct nearness){m->spanning ? m->spans / (double)m->spanning : 0, mean_wait(ret)};
	if (o.apart)
		return 0;
	o.apart = true;
	o.listener = NULL;
	o.blocked = NULL;
	o.progress = NULL;
	rc = sim_run(m->w, policy, &o, &other, err);
	if (rc == 0) {
		ret->apart = other.near;
		sim_result_fini(&other);
	}
	return rc;
}

/* Lets nodes divide their CPUs among jobs with a budget, as the server does. */
static int nodes_divide(struct cluster *c, const name_list *names, struct err *err)
{
	for (size_t i = 0; i < names->n; i++) {
		uint32_t id;
		if (!names_find(&c->node_names, names->v[i], &id))
			return err_set(err, -EINVAL, "node %.60s is shared, and the machine has no node of that name",
				       names->v[i]);
		if (c->nodes.v[id].partition != PARTITION_NONE)
			return err_set(err, -EINVAL,
				       "node %.60s is shared, and in a partition: its jobs have whole nodes",
				       names->v[i]);

		struct res total = c->nodes.v[id].total;

		total.v[RES_SHARE] += total.v[RES_CPU] * SHARE_CPU;
		total.v[RES_CPU] = 0;
		cluster_resize_node(c, id, &total);
	}
	return 0;
}

int sim_run(const struct workload *w, const struct policy *policy, const struct sim_options *o, struct sim_result *ret,
	    struct err *err)
{
	struct sim m = {.w = w, .o = o, .ret = ret, .now = INT64_MIN};
	struct policy altered = *policy;
	struct priority_settings priority = {0};
	bool priorities = false;
	int rc;

	*ret = (struct sim_result){0};
	m.c = cluster_create();
	m.c->settings = o->settings;
	rc = machine_build(m.c, o->machine, err);
	if (rc == 0 && o->site)
		rc = partitions_of_site(m.c, o->site, err);
	if (rc == 0 && o->site)
		amounts_of_server(m.c, &o->site->attrs);
	if (rc == 0 && o->shared)
		rc = nodes_divide(m.c, o->shared, err);
	if (rc == 0 && o->topology)
		rc = topology_open(o->topology, &m.topology, err);
	if (rc == 0 && o->topology && !o->apart) {
		struct topology *t;
		rc = topology_open(o->topology, &t, err);
		if (rc == 0)
			cluster_set_topology(m.c, t);
	}
	if (rc < 0)
		goto out;
	if (o->site)
		rc = priority_settings_of(&priority, &o->site->attrs, err);
	if (rc == 0)
		rc = policy_prioritize(policy, &priority, err);
	if (rc == 0 && o->site)
		rc = policy_alter(&altered, &o->site->attrs, err);
	if (rc < 0)
		goto out;
	if (!altered.position)
		m.c->settings.nights = (struct hours){0};
	if (o->allocation)
		rc = policy_allocate(&altered, o->allocation, err);
	if (rc < 0)
		goto out;
	if (o->push_depth >= 0)
		altered.push_depth = o->push_depth;
	m.p = plan_create(m.c);
	m.sched = sched_create(m.c, m.p, &altered);
	rc = terms_init(&m.terms, w, o->site, m.sched, err);
	if (rc < 0)
		goto out;
	terms_prioritize(&m.terms, m.c, &priority);
	if (priority.order != PRIORITY_POLICY)
		sched_on_weigh(m.sched, terms_weigh, m.terms.shares ? terms_prepare : NULL, priority_drifts(&priority),
			       &m.terms);
	m.ruled = o->site || w->terms.n || o->overrun;
	if (w->jobs.n)
		terms_lay(&m.terms, w->jobs.v[0].submit);
	m.outcome = mem_zalloc(sizeof *m.outcome * (w->jobs.n + 1));
	for (size_t i = 0; i < w->jobs.n; i++) {
		const struct wjob *j = &w->jobs.v[i];
		m.outcome[i] = (struct simulated){
			.id = j->id,
			.submit = j->submit,
			.start = -1,
			.end = -1,
			.estimate = j->walltime,
			.deadline = j->deadline,
			.user = j->user,
			.kind = j->kind,
		};
		if (j->terms && w->terms.v[j->terms - 1].priority)
			priorities = true;
	}
	for (size_t i = 0; priorities && i < w->users.n; i++)
		vec_push(&m.of_user, (job_vec){0});
	if (o->site)
		sched_on_delay(m.sched, victim_takes, &m);
	sched_on_yield(m.sched, yield_of, &m);
	sched_pace(m.sched, o->pace);
	sched_listen(m.sched, on_event, &m);
	sched_on_blocked(m.sched, o->blocked, o->blocked_context);
	vec_reserve(&m.index, w->jobs.n);

	double begin = real_seconds();
	run(&m, &altered);
	ret->seconds = real_seconds() - begin;
	judge(&m);
	ret->refused = ret->unfit.jobs + ret->unruled.jobs;
	ret->outcome = m.outcome;
	m.outcome = NULL;
	ret->n = (int64_t)w->jobs.n;
	ret->procs = m.c->total.v[RES_CPU];
	ret->stats = *sched_stats(m.sched);
	ret->pushes = m.p->moves;
	ret->attempts = m.p->attempts;
	if (o->topology)
		rc = nearness_compute(&m, policy, ret, err);
	if (rc < 0)
		sim_result_fini(ret);
out:
	topology_free(m.topology);
	terms_fini(&m.terms);
	sched_destroy(m.sched);
	plan_destroy(m.p);
	cluster_destroy(m.c);
	heap_fini(&m.ends);
	heap_fini(&m.due);
	for (size_t i = 0; i < m.of_user.n; i++)
		vec_free(&m.of_user.v[i]);
	vec_free(&m.of_user);
	vec_free(&m.index);
	vec_free(&m.id);
	vec_free(&m.could);
	free(m.outcome);
	return rc;
}

void sim_result_fini(struct sim_result *r)
{
	free(r->outcome);
	r->outcome = NULL;
}
