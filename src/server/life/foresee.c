/*
 * foresee.c - when waiting jobs will start, by the scheduler's own forecast (sched/forecast.h), for everything that shows it.
 *
 * It is made when it is asked for, in slices, so that a long queue keeps nobody waiting: a slice for each request until it is
 * complete, and no new one before twenty times as long has passed as the last one took. What has no complete forecast yet is
 * shown what is known so far: the starts that come first. Of every job the first forecast is kept, and compared with its start.
 * Holds, dependencies and limits go on beside it, by the same rules (src/rules).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/depend.h"
#include "core/job.h"
#include "core/jobid.h"
#include "plan/plan.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "sched/forecast.h"
#include "server/base/clock.h"
#include "server/base/stats.h"
#include "server/base/words.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/foresee.h"
#include "server/server.h"

#define SLICE_US 8000  /* of a request */
#define PACE 40000     /* see sched_pace(): a cycle takes a few milliseconds */
#define SLICE_CYCLES 1 /* between looks at the clock: with many nodes one takes milliseconds */
#define PIECES_MAX 500 /* jobs whose nodes are kept, for the picture of the plan */
#define REST 20	       /* times as long as it took */
#define STALE 30       /* seconds, after which a part of a newer one is better than the whole of the last */
#define ABANDON 300    /* seconds, after which it is begun anew: too much has changed */

struct foresight {
	struct forecast *run; /* the one that is being made; NULL: none */
	struct map coming;    /* its starts so far */
	struct map first;     /* core id -> the first start that was foreseen, while it waits */
	int64_t begun;	      /* the instant that it starts from */
	int64_t spent_us;
	int64_t idle_until;
	VEC(struct foreseen_piece) coming_pieces;
	size_t jobs;
	bool stopped; /* nothing starts at all (the attribute scheduling), when that was looked at last */
};

static int64_t monotonic_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static bool foresee_one(void *context, const struct foreseen *x)
{
	struct server *s = context;
	struct foresight *f = s->outlook->foresight;
	const struct request *r = cluster_job_request(s->cluster, entry_job(s, x->job));
	uint64_t known;

	map_set(&f->coming, x->job, (uint64_t)x->start);
	if (!map_get(&f->first, x->job, &known))
		map_set(&f->first, x->job, (uint64_t)x->start);
	for (uint32_t i = 0; i < x->nnodes && x->nnodes == r->nfrags && f->jobs < PIECES_MAX; i++)
		vec_push(&f->coming_pieces,
			 (struct foreseen_piece){x->job, (uint32_t)x->nodes[i],
						 cluster_frag_cpus(s->cluster, r, x->nodes, i), x->start, x->end});
	f->jobs++;
	return true;
}

/* What was foreseen so far, or all of it, is what is shown. */
static void publish(struct server *s)
{
	struct foresight *f = s->outlook->foresight;

	map_fini(&s->outlook->expected);
	map_copy(&s->outlook->expected, &f->coming);
	vec_free(&s->outlook->pieces);
	vec_copy(&s->outlook->pieces, &f->coming_pieces);
	s->outlook->expected_at = f->begun;
}

static void finish(struct foresight *f, int64_t now)
{
	forecast_destroy(f->run);
	f->run = NULL;
	f->idle_until = now + REST * f->spent_us / 1000000;
}

void foresee(struct server *s)
{
	struct foresight *f =
		s->outlook->foresight ? s->outlook->foresight : (s->outlook->foresight = mem_zalloc(sizeof *f));
	int64_t begin = monotonic_us();
	bool done = false;

	f->stopped = !attrs_bool(s->attrs, "scheduling");
	if (!f->run) {
		if (s->outlook->expected_of == s->plan->version && s->outlook->expected_at == s->clock->now)
			return;
		if (s->clock->now < f->idle_until)
			return;
		f->run = forecast_create(s->sched);
		forecast_pace(f->run, PACE);
		forecast_gate(f->run, s->gate);
		map_fini(&f->coming);
		vec_clear(&f->coming_pieces);
		f->jobs = 0;
		f->spent_us = 0;
		f->begun = s->clock->now;
		s->outlook->expected_of = s->plan->version;
	}
	while (!done && monotonic_us() - begin < SLICE_US)
		done = forecast_run(f->run, SLICE_CYCLES, foresee_one, s);
	f->spent_us += monotonic_us() - begin;
	if (done || s->clock->now - s->outlook->expected_at > STALE)
		publish(s);
	if (done || s->clock->now - f->begun > ABANDON)
		finish(f, s->clock->now);
}

void foresee_again(struct server *s)
{
	s->outlook->expected_at = 0;
	s->outlook->expected_of = 0;
	if (s->outlook->foresight && s->outlook->foresight->run)
		finish(s->outlook->foresight, 0);
	if (s->outlook->foresight)
		s->outlook->foresight->idle_until = 0;
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

bool foresee_start(const struct server *s, uint32_t id, int64_t *ret)
{
	const struct job *job = entry_job(s, id);
	uint64_t at;

	if ((!job_waits(job) && job->state != STATE_HELD) || (s->outlook->foresight && s->outlook->foresight->stopped))
		return false;
	if (map_get(&s->outlook->expected, id, &at) && (int64_t)at >= s->clock->now)
		*ret = (int64_t)at;
	else if (job->state == STATE_ALLOCATED)
		*ret = job->start;
	else
		return false;
	return true;
}

/* ---- why not ---- */

static bool foreseen(const struct server *s, uint32_t id)
{
	int64_t at;

	return entry_job(s, id)->state >= STATE_NOW || foresee_start(s, id, &at);
}

/* The first job that keeps another from having an estimate. */
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

bool foresee_not(const struct server *s, uint32_t id, struct strbuf *why)
{
	const struct entry *e = &s->jobs->entries.v[id];
	unsigned block = gate_blocks(s->gate, id);
	struct depends d = {0};
	size_t before = why->n;

	if (entry_job(s, id)->state >= STATE_NOW)
		return false;
	if (block & BLOCK_MISFIT)
		strbuf_puts(why, "no node could hold it");
	else if (block & BLOCK_HOLDS)
		strbuf_printf(why, "held by %s",
			      block & BLOCK_SYSTEM ? "the system"
			      : block & BLOCK_USER ? "its owner"
						   : "an operator");
	else if (block & BLOCK_QUEUE)
		strbuf_printf(why,
			      queue_is_started(s, e->spec->queue) ? "no destination of its routing queue %s accepts it"
								  : "its queue %s is stopped",
			      word(s, e->spec->queue));
	else if (!attrs_bool(s->attrs, "scheduling"))
		strbuf_puts(why, "the server is not starting jobs (scheduling is False)");
	else if ((block & BLOCK_DEPEND) && depends_parse(e->spec->depend, &d, NULL) == 0)
		not_depends(s, &d, why);
	depends_fini(&d);
	if (why->n > before)
		return true;
	strbuf_puts(why, s->outlook->foresight && s->outlook->foresight->run
				 ? "very many jobs are ahead of it; it is being computed"
			 : block ? "what it waits for has no estimate"
				 : "the nodes that are up could not hold it");
	return true;
}
