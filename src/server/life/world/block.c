/*
 * block.c - keeps waiting jobs from the scheduler: feeds the rules (src/rules) from specs, queues
 * and attributes.
 *
 * A job that the gate blocks is held in the core; HOLD and RELEASE are events, stored like all
 * others. So eligibility is stored, while its reasons are derived, here and at recovery alike: from
 * holds of users (entry.holds), the queue, time, and other jobs. The scheduler enforces how many
 * eligible jobs may run (rules/limit.h): limits are only set here.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "core/array.h"
#include "core/depend.h"
#include "core/job.h"
#include "core/jobid.h"
#include "plan/pack.h"
#include "rules/admit.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "rules/limit.h"
#include "rules/queue.h"
#include "sched/forecast.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/base/words.h"
#include "server/base/work.h"
#include "server/book/credits.h"
#include "server/job/entry.h"
#include "server/job/failures.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/depend.h"
#include "server/life/world/block.h"
#include "server/life/world/dispatch.h"
#include "server/life/world/world.h"
#include "server/server.h"
#include "server/settings/remotes.h"

/* jobs and relations visited in the search for a circle, at most: some 30 ms */
#define WALK_MAX 1000000

/* ---- callbacks of the gate ---- */

static bool find(void *context, const struct jobid *id, uint32_t *ret_job, bool *ret_whole)
{
	const struct server *s = context;
	const struct array *a = array_find(s, id->number);

	*ret_whole = a && id->kind != JOBID_ELEMENT;
	if (*ret_whole)
		*ret_job = a->first;
	return *ret_whole || entry_find(s, id->number, id->index, ret_job);
}

/* Returns true if no nodes here could hold it. Whether it fits at another site is not known
 * here. */
static bool misfits(const struct server *s, const struct spec *p)
{
	return !queue_is_remote(word_text(s, p->queue)) &&
	       (p->request == UINT32_MAX || world_could_hold((struct server *)s, p) != FIT_YES) &&
	       !spec_may_leave(s, p);
}

static unsigned standing(const struct server *s, const struct spec *p)
{
	const struct queue *q = queue_of(s, p->queue);
	unsigned bits = 0;

	if (queue_is_remote(word_text(s, p->queue)))
		return BLOCK_QUEUE;
	if (misfits(s, p))
		bits |= BLOCK_MISFIT;
	if (!q || !attrs_bool(&q->attrs, SET_STARTED) || admit_routes(&q->attrs))
		bits |= BLOCK_QUEUE;
	return bits;
}

static struct gate_terms terms_of(struct server *s, const struct spec *p)
{
	return (struct gate_terms){.at = p->at, .depend = p->depend, .find = find, .past = depend_past, .context = s};
}

/* Holds or releases a waiting job in the core according to the gate. */
static void settle(struct server *s, uint32_t id)
{
	const struct job *job = entry_job(s, id);
	bool blocked = gate_blocks(s->gate, id) != 0;

	const struct entry *e = entry_get(s, id);

	/* A job that begins as held has been so since its submission: its record has no other
	 * time. */
	if (blocked && job_waits(job))
		sched_hold(s->sched, id, e->fresh ? e->spec->created : s->clock->now);
	else if (!blocked && job->state == STATE_HELD)
		sched_release(s->sched, id, s->clock->now);
	s->turn->dirty = true;
}

static bool is_waiting(const struct server *s, uint32_t id)
{
	return job_waits(entry_job(s, id)) || entry_job(s, id)->state == STATE_HELD;
}

void block_begin(struct server *s, uint32_t id)
{
	const struct entry *e = entry_get(s, id);
	struct gate_terms t = terms_of(s, e->spec);
	struct strbuf why = {0};

	world_request(s, id); /* may have changed while it ran */
	t.block = e->holds | standing(s, e->spec);
	if (failures_update(s, id))
		t.retry = e->failures->until;
	t.share = &e->spec->share;
	depend_watch(s, id);
	if (gate_enter(s->gate, id, &t, s->clock->now, &why) == DEPEND_IMPOSSIBLE)
		job_end_waiting(s, id, END_DEPEND, &(struct payload){.text = strbuf_text(&why)});
	else
		settle(s, id);
	strbuf_fini(&why);
}

void block_set(struct server *s, uint32_t id, unsigned bits)
{
	if (!is_waiting(s, id))
		return;
	gate_block(s->gate, id, bits);
	settle(s, id);
}

void block_clear(struct server *s, uint32_t id, unsigned bits)
{
	if (!is_waiting(s, id) || !(gate_blocks(s->gate, id) & bits))
		return;
	gate_unblock(s->gate, id, bits);
	settle(s, id);
}

void block_fit(struct server *s, uint32_t id)
{
	if (misfits(s, entry_get(s, id)->spec))
		block_set(s, id, BLOCK_MISFIT);
	else
		block_clear(s, id, BLOCK_MISFIT);
}

void block_ways(struct server *s)
{
	JOBS_EACH(s, id)
		if (entry_get(s, id)->spec && is_waiting(s, id))
			block_fit(s, id);
}

void block_due(struct server *s)
{
	uint32_t id;

	while (gate_due(s->gate, s->clock->now, &id))
		settle(s, id);
}

void block_explain(struct server *s, uint32_t id, struct strbuf *out)
{
	struct gate_terms t = terms_of(s, entry_get(s, id)->spec);

	gate_explain(s->gate, &t, out);
}

void block_unmet(struct server *s, uint32_t id, gate_relation relation, void *context)
{
	struct gate_terms t = terms_of(s, entry_get(s, id)->spec);

	gate_unmet(s->gate, &t, relation, context);
}

int block_circle_check(struct server *s, const struct spec *p, const uint32_t *jobs, size_t njobs, struct err *err)
{
	struct gate_terms t = terms_of(s, p);
	int rc = gate_reaches(s->gate, &t, jobs, njobs, WALK_MAX);

	if (rc > 0)
		return err_code(err, CODE_REFUSED, "depend: it would wait for itself");
	if (rc < 0)
		return err_code(
			err, CODE_REFUSED,
			"depend: what those jobs wait for is too much to look for a circle: more than %d relations",
			WALK_MAX);
	return 0;
}

uint32_t block_foresee(struct server *s, struct forecast *f, const struct spec *p, uint32_t count, int64_t most,
		       const struct gate **ret)
{
	struct limit_party party = spec_party(p, UINT64_MAX);
	uint32_t first = forecast_copies(f, s->world->scratch, count, &party, most);
	struct gate *g = forecast_gate(f, s->gate);
	struct gate_terms t = terms_of(s, p);
	struct gate_share share = {0};
	enum depend_state state = DEPEND_WAITING;

	t.block = (p->holds & BLOCK_HOLDS) | (standing(s, p) & BLOCK_QUEUE);
	t.share = &share;
	for (uint32_t id = first; id < first + count; id++) {
		enum depend_state now = gate_enter(g, id, &t, s->clock->now, NULL);
		if (id == first && (state = now) != DEPEND_WAITING)
			t.depend = NULL; /* judged once for all of them */
		if (state == DEPEND_IMPOSSIBLE)
			gate_block(g, id, BLOCK_MISFIT);
		forecast_submit(f, id, s->clock->now, gate_blocks(g, id) != 0);
	}
	*ret = g;
	return first;
}

/* ---- limits ---- */

/* Returns the number by which limits identify the object. */
static uint32_t object_number_of(struct server *s, const struct object *x)
{
	return object_table[x->kind].defaults && strcmp(x->name, OBJECT_DEFAULT) == 0 ? 0 : word_add(s, x->name);
}

static void object_limits(struct server *s, const struct object *x)
{
	uint32_t number = object_number_of(s, x);

	limits_of_object(s->limits, x->kind, number, &x->attrs);
	if (x->kind == OBJECT_ACCOUNT && number)
		limits_parent(s->limits, number, word_add(s, attrs_text(&x->attrs, SET_PARENT)));
}

void block_limits(struct server *s)
{
	limits_of_server(s->limits, s->attrs);
	for (size_t i = 0; i < s->jobs->queues.n; i++)
		limits_of_queue(s->limits, word_add(s, s->jobs->queues.v[i]->name), &s->jobs->queues.v[i]->attrs);
	for (int k = 0; k < OBJECT_KINDS; k++)
		for (size_t i = 0; i < s->objects->of[k].n; i++)
			object_limits(s, s->objects->of[k].v[i]);
	credits_limits(s);
	sched_refresh(s->sched);
	s->turn->dirty = true;
}

void block_forget(struct server *s, const struct object *x)
{
	uint32_t number = object_number_of(s, x);

	limits_of_object(s->limits, x->kind, number, NULL);
	if (x->kind != OBJECT_ACCOUNT || !number)
		return;
	limits_parent(s->limits, number, 0);
	for (int m = LIMIT_CREDIT; m < LIMIT_MEASURES; m++)
		limits_credit(s->limits, number, (enum limit_measure)m, -1);
}

void block_array(struct server *s, const struct array *a)
{
	limits_set(s->limits, LIMIT_ARRAY, a->number, a->limit ? a->limit : -1);
	sched_refresh(s->sched);
	s->turn->dirty = true;
}

/* ---- dependencies ---- */

/* Handles one item of the gate's news; returns false if there is none. */
static bool news_take(struct server *s)
{
	struct strbuf why = {0};
	enum gate_news news;
	uint32_t id = 0;

	news = gate_news(s->gate, &id, &why);
	if (news == NEWS_FREED)
		settle(s, id);
	else if (news == NEWS_DOOMED)
		job_end_waiting(s, id, END_DEPEND, &(struct payload){.text = strbuf_text(&why)});
	strbuf_fini(&why);
	return news != NEWS_NONE;
}

/* Handles news that do not fit into a turn, in slices. Nothing of it is stored: recovery derives
 * the same. */
static bool news_step(struct server *s, struct work *w)
{
	if (news_take(s))
		return true;
	s->slices->news_work = NULL;
	free(w);
	return false;
}

static void news_end(struct server *s, struct work *w, const char *why)
{
	s->slices->news_work = NULL;
	free(w);
}

bool block_news(struct server *s, int64_t *steps)
{
	static const struct work_kind kind = {.step = news_step, .stop = news_end, .lasting = true};
	bool any = false;

	for (; gate_has_news(s->gate) && *steps > 0; --*steps)
		any |= news_take(s);
	if (gate_has_news(s->gate) && !s->slices->news_work) {
		s->slices->news_work = mem_zalloc(sizeof *s->slices->news_work);
		work_add(s, s->slices->news_work, &kind);
	}
	return any;
}
