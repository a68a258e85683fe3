/* order.c - the order of waiting jobs: their ranks, exchanged by hand or by their users'
 * priorities. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"
#include "core/job.h"
#include "rules/weigh.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/base/words.h"
#include "server/base/work.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/order.h"
#include "server/server.h"
#include "store/store.h"

void rank_note(struct server *s, uint32_t id, double rank, const char *text, const char *who)
{
	bool queued = job_waits(entry_job(s, id));

	if (entry_job(s, id)->rank == rank)
		return;
	if (queued)
		sched_rank_begin(s->sched, id, s->clock->now);
	entry_event(s, id, EVENT_RANK, &(struct payload){.rank = rank, .text = text, .who = who});
	if (queued) {
		sched_readmit(s->sched, id, s->clock->now);
		sched_rank(s->sched);
	}
	s->turn->dirty = true;
}

void rank_set(struct server *s, uint32_t id, double rank)
{
	rank_note(s, id, rank, NULL, NULL);
}

/* Reordering of a user's waiting jobs among the places they have (weigh_share). Many jobs are
 * done in slices; the store has the user until it is complete, so that a restart continues it. */
struct reorder {
	struct work work;
	VEC(uint32_t) owners; /* words, in order; the ladder belongs to the first */
	struct ladder {
		VEC(struct rung) rungs; /* jobs in their new order, with their new ranks */
		size_t at;		/* jobs before it have their new rank */
		bool built;
	} ladder;
};

/* Returns true if the job waits. A job that is still being accepted (intake.h) cannot have an
 * event yet. */
static bool in_line(const struct server *s, uint32_t id)
{
	const struct job *job = entry_job(s, id);

	return entry_get(s, id)->spec && (job->state == STATE_HELD || job_waits(job));
}

static void ladder_build(const struct server *s, struct ladder *l, uint32_t owner)
{
	JOBS_EACH(s, id) {
		const struct spec *p = entry_get(s, id)->spec;
		if (!in_line(s, id) || p->owner != owner)
			continue;
		struct rung rung = {entry_job(s, id)->rank, p->priority, id};
		vec_push(&l->rungs, rung);
	}
	weigh_share(l->rungs.v, l->rungs.n);
	l->built = true;
}

static void ladder_fini(struct ladder *l)
{
	vec_free(&l->rungs);
	*l = (struct ladder){0};
}

/* Returns true if the same user is queued again, because of a later change. */
static bool owner_waits(const struct reorder *x, uint32_t owner, size_t from)
{
	for (size_t i = from; i < x->owners.n; i++)
		if (x->owners.v[i] == owner)
			return true;
	return false;
}

static void reorder_free(struct server *s, struct reorder *x)
{
	ladder_fini(&x->ladder);
	vec_free(&x->owners);
	free(x);
	s->slices->reorder = NULL;
}

static bool reorder_step(struct server *s, struct work *w)
{
	struct reorder *x = (struct reorder *)w;
	struct ladder *l = &x->ladder;
	uint32_t owner = x->owners.v[0];

	if (!l->built) {
		ladder_build(s, l, owner);
		return true;
	}
	if (l->at < l->rungs.n) {
		uint32_t id = l->rungs.v[l->at].job;
		if (in_line(s, id))
			rank_set(s, id, l->rungs.v[l->at].rank);
		l->at++;
		return true;
	}
	ladder_fini(l);
	vec_remove(&x->owners, 0);
	if (!owner_waits(x, owner, 0))
		store_drop_object(s->store, "reorder", word_text(s, owner));
	if (x->owners.n)
		return true;
	reorder_free(s, x);
	return false;
}

static void reorder_stop(struct server *s, struct work *w, const char *why)
{
	reorder_free(s, (struct reorder *)w); /* the store has it: it is done after the restart */
}

/* Queues a user. Returns false if it was queued already. */
static bool reorder_add(struct server *s, uint32_t owner)
{
	static const struct work_kind kind = {.step = reorder_step, .stop = reorder_stop, .lasting = true};

	if (!s->slices->reorder) {
		s->slices->reorder = mem_zalloc(sizeof *s->slices->reorder);
		work_add(s, &s->slices->reorder->work, &kind);
	}
	if (owner_waits(s->slices->reorder, owner, s->slices->reorder->ladder.built))
		return false;
	vec_push(&s->slices->reorder->owners, owner);
	return true;
}

void reorder_note(struct server *s, uint32_t owner)
{
	store_put_object(s->store, "reorder", word_text(s, owner), "{}");
}

void reorder_later(struct server *s, uint32_t owner)
{
	if (reorder_add(s, owner))
		reorder_note(s, owner);
}

int reorder_restore(struct server *s, const char *owner, const json_t *o, struct err *err)
{
	s->jobs->priorities = true;
	reorder_add(s, word_add(s, owner));
	return 0;
}
