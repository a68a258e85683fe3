/*
 * hookrank.c - see hookrank.h.
 */
#include "server/life/wait/hookrank.h"

#include <jansson.h>
#include <stdbool.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/job.h"
#include "rules/attr.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/base/words.h"
#include "server/book/ended.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/life/state.h"
#include "server/life/wait/priority.h"
#include "server/server.h"
#include "server/site/hooks.h"

#define BATCH 200	   /* jobs per question: writing it takes some milliseconds */
#define SCAN 5000	   /* maximum jobs looked at per turn */
#define WEIGH_EVERY 10	   /* seconds between two weighings of all jobs, which are expensive */
#define WEIGH_AT_ONCE 5000 /* number of jobs up to which they are weighed at once */

/* State of the factor; owned by the world. */
struct hookrank {
	struct rows value;    /* double, by job; later jobs have no value yet */
	VEC(uint32_t) again;  /* jobs that were altered */
	uint32_t at;	      /* next job to ask for; those from here on are new, or due again */
	int64_t begun;	      /* instant when the present pass began */
	struct hook_ask *ask; /* question under way; NULL: none */
	struct strbuf text;   /* data of the question */
	VEC(uint32_t) asked;  /* jobs of the question */
	bool changed;	      /* there are values that the scheduler has not used yet */
	int64_t weighed;
};

static double *value_of(const struct hookrank *h, uint32_t id)
{
	return rows_at(&h->value, id, sizeof(double));
}

double hookrank_value(const struct server *s, uint32_t id)
{
	const struct hookrank *h = s->world->hookrank;

	return h && id < h->value.n ? *value_of(h, id) : 0;
}

void hookrank_again(struct server *s, uint32_t id)
{
	if (s->world->hookrank && hooks_want(s, HOOK_PRIORITY))
		vec_push(&s->world->hookrank->again, id);
}

static bool waits(const struct server *s, uint32_t id)
{
	return entry_get(s, id)->spec && entry_job(s, id)->state <= STATE_ALLOCATED;
}

/* ---- a question ---- */

static void job_write(struct server *s, struct json *j, uint32_t id)
{
	const struct spec *p = entry_get(s, id)->spec;
	char group[64];
	struct strbuf name = {0};

	entry_id(s, id, &name);
	json_open_object(j, NULL);
	json_text(j, "id", strbuf_text(&name));
	json_text(j, "user", word_text(s, p->owner));
	json_text(j, "group", group_name(s, p, group, sizeof group));
	json_int(j, "submitted", p->created);
	submission_brief(s, p, j);
	json_close_object(j);
	strbuf_fini(&name);
}

static void values_take(struct server *s, struct hookrank *h)
{
	for (size_t i = 0; i < h->asked.n && i < json_array_size(h->ask->values); i++) {
		if (!json_is_number(json_array_get(h->ask->values, i)))
			continue; /* not reached: the previous value still counts */
		double value = json_number_value(json_array_get(h->ask->values, i));
		uint32_t id = h->asked.v[i];
		if (!waits(s, id)) /* it may be forgotten by now */
			continue;
		rows_reach(&h->value, id + 1, sizeof(double), &s->jobs->entries);
		h->changed |= *value_of(h, id) != value;
		*value_of(h, id) = value;
	}
}

static void on_said(struct server *s, void *context)
{
	struct hookrank *h = s->world->hookrank;

	values_take(s, h);
	/* the others would fail as well: wait for the next pass */
	if (h->ask->failed || !h->ask->values)
		h->at = s->jobs->entries.n;
	hook_ask_free(h->ask);
	h->ask = NULL;
}

/* Chooses waiting jobs for a question, first from `again`. */
static void batch_choose(struct server *s, struct hookrank *h)
{
	uint32_t end = s->jobs->entries.n;

	vec_clear(&h->asked);
	while (h->again.n && h->asked.n < BATCH) {
		uint32_t id = h->again.v[--h->again.n];
		if (waits(s, id))
			vec_push(&h->asked, id);
	}
	h->at = rows_next(&s->jobs->entries, h->at);
	for (int i = 0; i < SCAN && h->at < end && h->asked.n < BATCH; i++, h->at++)
		if (waits(s, h->at))
			vec_push(&h->asked, h->at);
}

static void batch_send(struct server *s, struct hookrank *h)
{
	struct json j;

	strbuf_clear(&h->text);
	json_init(&j, &h->text, false);
	json_open_array(&j, NULL);
	for (size_t i = 0; i < h->asked.n; i++)
		job_write(s, &j, h->asked.v[i]);
	json_close_array(&j);
	h->ask = hooks_ask(s, HOOK_PRIORITY, NULL, h->text.text, h->text.n, on_said, NULL);
}

/* ---- a turn ---- */

static int64_t refresh(const struct server *s)
{
	return attrs_number(s->attrs, SET_HOOK_REFRESH);
}

/* Drops all values because no hook has the function any more. */
static void values_forget(struct server *s, struct hookrank *h)
{
	h->changed |= h->value.n > 0;
	rows_free(&h->value);
	vec_clear(&h->again);
	h->at = 1;
}

static int64_t weigh_due(const struct server *s, const struct hookrank *h)
{
	return s->jobs->entries.n <= WEIGH_AT_ONCE ? 0 : h->weighed + WEIGH_EVERY;
}

static void weigh(struct server *s, struct hookrank *h)
{
	if (!h->changed || h->ask || s->clock->now < weigh_due(s, h))
		return;
	h->changed = false;
	h->weighed = s->clock->now;
	if (priority_rules(s) && s->world->priority.weight[FACTOR_HOOK] != 0)
		priority_parties(s);
}

void hookrank_turn(struct server *s)
{
	struct hookrank *h = s->world->hookrank;
	bool wanted = hooks_want(s, HOOK_PRIORITY);

	if (!h && !wanted)
		return;
	if (!h) {
		h = s->world->hookrank = mem_zalloc(sizeof *h);
		h->at = 1;
		h->begun = s->clock->now;
	}
	if (h->ask)
		return;
	if (!wanted) {
		values_forget(s, h);
	} else {
		if (s->clock->now >= h->begun + refresh(s)) {
			h->at = 1;
			h->begun = s->clock->now;
			rows_follow(&h->value, &s->jobs->entries);
		}
		batch_choose(s, h);
		if (h->asked.n)
			batch_send(s, h);
	}
	weigh(s, h);
}

int64_t hookrank_next(const struct server *s)
{
	const struct hookrank *h = s->world->hookrank;
	int64_t next;

	if (!h || h->ask || !hooks_want(s, HOOK_PRIORITY))
		return TIME_NEVER;
	if (h->at < s->jobs->entries.n || h->again.n)
		return s->clock->now;
	next = h->begun + refresh(s);
	return h->changed && weigh_due(s, h) < next ? weigh_due(s, h) : next;
}
