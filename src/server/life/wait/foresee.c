/*
 * foresee.c - forecasts the starts of waiting jobs, by the scheduler's own forecast
 * (sched/forecast.h).
 *
 * A forecast is made on request. For a short queue it is made in slices, so that no client waits:
 * one slice per request until it is complete, and no new one until twenty times its duration has
 * passed; until a forecast is complete, the known part is shown. For a long queue it is made by
 * processes beside the server (seer.h): one for the whole queue, which has LIMIT seconds and gives
 * rough estimates for the rest, and meanwhile others for the jobs that come first.
 *
 * A forecast that is shown is never older than FORECAST_OLDEST: a forecast of the whole queue
 * begins REST_WHOLE after the previous one began, or after twice its duration, at most 2 * LIMIT
 * after it began, and is ready LIMIT later. The first forecast of every job is kept, and compared
 * with its start. Holds, dependencies and limits are simulated by the same rules (src/rules).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/ticks.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/depend.h"
#include "core/job.h"
#include "core/jobid.h"
#include "plan/plan.h"
#include "rules/amounts.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "sched/explain.h"
#include "sched/forecast.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/base/stats.h"
#include "server/base/turn.h"
#include "server/base/words.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/foresee.h"
#include "server/life/wait/seer.h"
#include "server/server.h"

#define SLICE_US 8000 /* time per request */
#define PACE 40000    /* see sched_pace(): a cycle takes a few milliseconds */
/* cycles between reads of the clock: with many nodes one takes milliseconds */
#define SLICE_CYCLES 1
/* jobs at the front: their nodes are kept for the display of the plan, and in a long
 * queue they are forecast more often */
#define FIRST_JOBS 500
#define REST 20	     /* pause after a forecast, as a multiple of the time it held the server */
#define REST_MOST 30 /* seconds */
/* seconds after which a part of a newer forecast is better than the whole last one */
#define STALE 30
#define ABANDON 300 /* seconds after which it is restarted, since too much has changed */

#define LONG_QUEUE 1000 /* number of waiting jobs above which a process makes the forecast */
#define LIMIT 20	/* time limit of such a process, seconds */
#define REST_WHOLE 25	/* seconds between the beginnings of two forecasts of the whole queue */
#define REST_FIRST 2	/* seconds between two forecasts of the first jobs */

/* A forecast in progress. */
struct coming {
	struct starts starts;
	foreseen_pieces pieces;
	size_t jobs;
	struct seer *seer; /* process that makes it; NULL: none */
};

struct foresight {
	struct forecast *run; /* forecast being made in slices; NULL: none */
	struct coming whole;  /* forecast of the whole queue, in slices or by a process */
	struct coming first_jobs;
	struct map first; /* core id -> first forecast start, while the job waits */
	int64_t spent_us;
	int64_t idle_until;	  /* no forecast of the whole queue is begun before */
	int64_t first_idle_until; /* no forecast of the first jobs is begun before */
	bool stopped;		  /* scheduling was off at the last look */
	/* starts a process after an answer was sent; `data` is NULL before the first use */
	uv_timer_t later;
};

/* ---- a growing forecast ---- */

static void coming_begin(struct server *s, struct coming *c)
{
	map_fini(&c->starts.at);
	vec_clear(&c->pieces);
	c->jobs = 0;
	c->starts.made = s->clock->now;
	c->starts.partial = false;
	c->starts.rough = TIME_NEVER;
	c->starts.version = s->plan->version;
	c->starts.commits = s->stats->commits;
	c->starts.submitted = s->stats->submitted;
}

static void coming_add(struct server *s, struct coming *c, const struct foreseen *x)
{
	struct foresight *f = s->outlook->foresight;
	const struct request *r = cluster_job_request(s->cluster, entry_job(s, x->job));
	uint64_t known;

	map_set(&c->starts.at, x->job, (uint64_t)x->start);
	if (x->rough) {
		c->starts.rough = x->start < c->starts.rough ? x->start : c->starts.rough;
		return;
	}
	if (job_waits(entry_job(s, x->job)) && !map_get(&f->first, x->job, &known))
		map_set(&f->first, x->job, (uint64_t)x->start);
	for (uint32_t i = 0; i < x->nnodes && x->nnodes == r->nfrags && c->jobs < FIRST_JOBS; i++)
		vec_push(&c->pieces,
			 (struct foreseen_piece){x->job, (uint32_t)x->nodes[i],
						 cluster_frag_cpus(s->cluster, r, x->nodes, i), x->start, x->end});
	c->jobs++;
}

/* Makes the forecast so far the one that is shown. */
static void coming_show(struct coming *c, struct starts *to, foreseen_pieces *pieces)
{
	map_fini(&to->at);
	*to = c->starts;
	map_copy(&to->at, &c->starts.at);
	vec_free(pieces);
	vec_copy(pieces, &c->pieces);
}

/* ---- beside the server ---- */

static void whole_told(void *context, const struct foreseen *x)
{
	struct server *s = context;
	struct outlook *o = s->outlook;
	struct coming *c = &o->foresight->whole;

	coming_add(s, c, x);
	if (c->jobs == FIRST_JOBS && c->starts.made >= foresee_last(s))
		coming_show(c, &o->first, &o->pieces);
}

static void whole_over(void *context, bool complete)
{
	struct server *s = context;
	struct foresight *f = s->outlook->foresight;
	struct coming *c = &f->whole;
	int64_t took = s->clock->now - c->starts.made;

	c->seer = NULL;
	f->idle_until = c->starts.made + (2 * took > REST_WHOLE ? 2 * took : REST_WHOLE);
	if (complete || c->jobs > 0) {
		c->starts.partial = !complete;
		map_fini(&s->outlook->whole.at);
		s->outlook->whole = c->starts;
		c->starts.at = (struct map){0};
	}
}

static void first_told(void *context, const struct foreseen *x)
{
	struct server *s = context;

	coming_add(s, &s->outlook->foresight->first_jobs, x);
}

static void first_over(void *context, bool complete)
{
	struct server *s = context;
	struct coming *c = &s->outlook->foresight->first_jobs;

	c->seer = NULL;
	if (complete && c->starts.made >= foresee_last(s))
		coming_show(c, &s->outlook->first, &s->outlook->pieces);
}

/* The plan stays the same when a job is submitted that has to wait. */
static bool same_instant(const struct server *s, const struct starts *x)
{
	return x->made == s->clock->now && x->version == s->plan->version && x->submitted == s->stats->submitted;
}

/* Returns true if nothing has happened since and the forecast is not old. The plan's version is
 * less useful: explaining why a job waits changes it as well. */
static bool still_holds(const struct server *s, const struct starts *x)
{
	return s->clock->now - x->made < FORECAST_OLD && x->commits == s->stats->commits;
}

/* Starts a forecast of the whole queue if it is due, otherwise of the first jobs. Returns false
 * if no process could be started. */
static bool foresee_beside(struct server *s, struct foresight *f)
{
	const struct seer_calls whole = {whole_told, whole_over, s}, first = {first_told, first_over, s};
	struct coming *c = &f->whole;

	if (!c->seer && s->clock->now >= f->idle_until) {
		coming_begin(s, c);
		c->seer = seer_start(s, 0, FIRST_JOBS, LIMIT, &whole);
	} else if ((c->seer && c->jobs < FIRST_JOBS) || f->first_jobs.seer || s->clock->now < f->first_idle_until ||
		   still_holds(s, &s->outlook->first)) {
		return true;
	} else {
		c = &f->first_jobs;
		coming_begin(s, c);
		c->seer = seer_start(s, FIRST_JOBS, FIRST_JOBS, LIMIT, &first);
	}
	f->first_idle_until = s->clock->now + REST_FIRST + (c->seer ? REST * seer_fork_us(c->seer) / 1000000 : 0);
	return c->seer || c == &f->first_jobs;
}

/* ---- in slices ---- */

static bool foresee_one(void *context, const struct foreseen *x)
{
	struct server *s = context;

	coming_add(s, &s->outlook->foresight->whole, x);
	return true;
}

static void finish(struct foresight *f, int64_t now)
{
	forecast_destroy(f->run);
	f->run = NULL;
	f->idle_until = now + (REST * f->spent_us < REST_MOST * 1000000 ? REST * f->spent_us / 1000000 : REST_MOST);
}

static void foresee_slice(struct server *s, struct foresight *f)
{
	struct outlook *o = s->outlook;
	int64_t begin = clock_us(CLOCK_MONOTONIC);
	bool done = false;

	if (!f->run) {
		if (same_instant(s, &o->whole) || s->clock->now < f->idle_until)
			return;
		seer_stop(f->whole.seer);
		f->whole.seer = NULL;
		f->run = forecast_create(s->sched);
		forecast_pace(f->run, PACE);
		forecast_gate(f->run, s->gate);
		coming_begin(s, &f->whole);
		f->spent_us = 0;
	}
	while (!done && clock_us(CLOCK_MONOTONIC) - begin < SLICE_US)
		done = forecast_run(f->run, SLICE_CYCLES, foresee_one, s);
	f->spent_us += clock_us(CLOCK_MONOTONIC) - begin;
	if (done || s->clock->now - o->whole.made > STALE)
		coming_show(&f->whole, &o->whole, &o->pieces);
	if (done || s->clock->now - f->whole.starts.made > ABANDON)
		finish(f, s->clock->now);
}

static void on_later(uv_timer_t *t)
{
	struct server *s = t->data;
	struct foresight *f = s->outlook->foresight;

	if (!f->run && !s->turn->terminating && !foresee_beside(s, f))
		foresee_slice(s, f);
}

/* Starts a process from a timer: a fork takes milliseconds and makes later writes copy pages,
 * and no answer should wait for that. */
static void foresee_later(struct server *s, struct foresight *f)
{
	if (!f->later.data) {
		uv_timer_init(s->loop, &f->later);
		f->later.data = s;
	}
	uv_timer_start(&f->later, on_later, 0, 0);
}

void foresee_update(struct server *s)
{
	struct foresight *f =
		s->outlook->foresight ? s->outlook->foresight : (s->outlook->foresight = mem_zalloc(sizeof *f));
	bool beside = f->whole.seer || sched_waiting(s->sched) + gate_pending(s->gate) > LONG_QUEUE;

	f->stopped = !attrs_bool(s->attrs, SET_SCHEDULING);
	if (s->turn->terminating && s->clock->now - s->outlook->whole.made <= FORECAST_OLDEST)
		return;
	if (f->run || !beside || !s->loop || s->turn->terminating)
		foresee_slice(s, f);
	else
		foresee_later(s, f);
}

void foresee_again(struct server *s)
{
	struct foresight *f = s->outlook->foresight;

	s->outlook->whole.made = s->outlook->first.made = 0;
	if (!f)
		return;
	if (f->run)
		finish(f, 0);
	seer_stop(f->whole.seer);
	seer_stop(f->first_jobs.seer);
	f->whole.seer = f->first_jobs.seer = NULL;
	f->idle_until = f->first_idle_until = 0;
}

void foresee_started(struct server *s, uint32_t id, int64_t now)
{
	struct foresight *f = s->outlook->foresight;
	uint64_t start;
	double error;

	if (!f || !map_get(&f->first, id, &start))
		return;
	map_remove(&f->first, id);
	error = (double)(now - (int64_t)start);
	s->stats->foreseen++;
	s->stats->foreseen_error += error < 0 ? -error : error;
	s->stats->foreseen_late += error > 0;
}

void foresee_forget(struct server *s, uint32_t id)
{
	if (s->outlook->foresight)
		map_remove(&s->outlook->foresight->first, id);
}

/* Returns the newest forecast that has the job; NULL: none that is recent enough. */
static const struct starts *starts_of(const struct server *s, uint32_t id, uint64_t *ret)
{
	const struct outlook *o = s->outlook;
	const struct starts *by_age[] = {&o->first, &o->whole, o->foresight ? &o->foresight->whole.starts : NULL};
	bool shown = s->clock->now - o->whole.made <= FORECAST_OLDEST;

	if (o->first.made < o->whole.made) {
		by_age[0] = &o->whole;
		by_age[1] = &o->first;
	}
	/* one in progress is used only if the others are too old */
	for (int i = 0; i < (shown ? 2 : 3); i++)
		if (by_age[i] && s->clock->now - by_age[i]->made <= FORECAST_OLDEST && map_get(&by_age[i]->at, id, ret))
			return by_age[i];
	return NULL;
}

bool foresee_start(const struct server *s, uint32_t id, int64_t *ret)
{
	const struct job *job = entry_job(s, id);
	uint64_t at;

	if ((!job_waits(job) && job->state != STATE_HELD) || (s->outlook->foresight && s->outlook->foresight->stopped))
		return false;
	if (starts_of(s, id, &at) && (int64_t)at >= s->clock->now)
		*ret = (int64_t)at;
	else if (job->state == STATE_ALLOCATED)
		*ret = job->start;
	else
		return false;
	return true;
}

bool foresee_end(const struct server *s, uint32_t id, int64_t *ret)
{
	const struct cluster *c = s->cluster;
	const struct job *job = entry_job(s, id);
	int64_t start = job->start, walltime = entry_get(s, id)->spec->walltime;

	if (job->state != STATE_NOW && job->state != STATE_RUNNING && !foresee_start(s, id, &start))
		return false;
	/* A job that is longer than the hours in which it may run needs several periods. */
	*ret = cluster_nights_short(c, job) ? hours_done(&c->settings.nights, start, walltime, job->saving)
					    : start + walltime;
	return true;
}

bool foresee_array_end(const struct server *s, const struct array *a, int64_t *ret)
{
	int64_t end, last = 0;

	for (uint32_t id = a->first; id < a->first + a->count; id++) {
		if (!entry_get(s, id)->spec || entry_ended(s, id))
			continue;
		if (!foresee_end(s, id, &end))
			return false;
		last = end > last ? end : last;
	}
	*ret = last;
	return last > 0;
}

int64_t foresee_last(const struct server *s)
{
	return s->outlook->first.made > s->outlook->whole.made ? s->outlook->first.made : s->outlook->whole.made;
}

bool foresee_rough(const struct server *s, uint32_t id)
{
	const struct starts *x;
	uint64_t at;

	x = starts_of(s, id, &at);
	return x && (int64_t)at >= x->rough;
}

int64_t foresee_made(const struct server *s, uint32_t id)
{
	const struct starts *x;
	uint64_t at;

	x = starts_of(s, id, &at);
	return x ? x->made : s->clock->now;
}

/* ---- reasons for a missing forecast ---- */

static bool foreseen(const struct server *s, uint32_t id)
{
	int64_t at;

	return entry_job(s, id)->state >= STATE_NOW || foresee_start(s, id, &at);
}

/* Appends the first dependency that keeps a job from having an estimate. */
static void not_depends(const struct server *s, const struct depends *d, struct strbuf *why)
{
	size_t before = why->n;

	for (uint32_t i = 0; i < d->n && why->n == before; i++) {
		if (d->v[i].type == DEPEND_ON)
			strbuf_puts(why, "waits for other jobs that were submitted to run before it");
		for (uint32_t k = 0; k < d->v[i].nids && d->v[i].type < DEPEND_BEFORE && why->n == before; k++) {
			const struct jobid *x = &d->v[i].id[k];
			uint32_t id;
			bool one = entry_find(s, x->number, x->index, &id), fails = d->v[i].type == DEPEND_AFTERNOTOK;
			if (one && (entry_ended(s, id) || (!fails && foreseen(s, id))))
				continue;
			strbuf_puts(why, "waits for job ");
			jobid_format(x, NULL, why);
			strbuf_puts(why, fails ? " to fail" : ", which has no estimate");
		}
	}
}

/* Appends why a job is missing from the forecast if there is no other reason. `changed`: instant
 * when it was altered or submitted. */
static void not_reached(const struct server *s, uint32_t id, unsigned block, int64_t changed, struct strbuf *why)
{
	const struct outlook *o = s->outlook;

	if (o->whole.partial && s->clock->now - o->whole.made <= FORECAST_OLDEST)
		strbuf_printf(why, "very many jobs are ahead of it; the forecast reaches only the next %zu starts",
			      o->whole.at.n);
	else if (o->foresight && (o->foresight->run || o->foresight->whole.seer))
		strbuf_puts(why, "very many jobs are ahead of it; it is being computed");
	else if (s->clock->now - o->whole.made > FORECAST_OLDEST || o->whole.made <= changed)
		strbuf_puts(why, "it has not been computed yet");
	else
		strbuf_puts(why, block				? "what it waits for has no estimate"
				 : sched_too_late(s->sched, id) ? "its deadline can't be met as planned"
								: "the nodes that are up could not hold it");
}

bool foresee_not(const struct server *s, uint32_t id, struct strbuf *why)
{
	const struct entry *e = entry_get(s, id);
	unsigned block = gate_blocks(s->gate, id);
	struct depends d = {0};
	size_t before = why->n;

	if (entry_job(s, id)->state >= STATE_NOW)
		return false;
	if (block & BLOCK_MISFIT) {
		if (!amounts_missing(s->cluster, cluster_job_request(s->cluster, entry_job(s, id)), why))
			strbuf_puts(why, "no node could hold it");
	} else if (block & BLOCK_HOLDS)
		strbuf_printf(why, "held by %s",
			      block & BLOCK_SYSTEM ? "the system"
			      : block & BLOCK_USER ? "its owner"
						   : "an operator");
	else if (block & BLOCK_QUEUE)
		strbuf_printf(why,
			      queue_is_started(s, e->spec->queue) ? "no destination of its routing queue %s accepts it"
								  : "its queue %s is stopped",
			      word_text(s, e->spec->queue));
	else if (!attrs_bool(s->attrs, SET_SCHEDULING))
		strbuf_puts(why, "the server is not starting jobs (scheduling is False)");
	else if ((block & BLOCK_DEPEND) && depends_parse(e->spec->depend, &d, NULL) == 0)
		not_depends(s, &d, why);
	depends_fini(&d);
	if (why->n > before ||
	    (!block && amounts_missing(s->cluster, cluster_job_request(s->cluster, entry_job(s, id)), why)))
		return true;
	not_reached(s, id, block, e->modified, why);
	return true;
}
