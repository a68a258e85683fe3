/* forget.c - removes jobs that ended long ago from memory and store, with their files. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/map.h"
#include "base/timetext.h"
#include "plan/plan.h"
#include "rules/limit.h"
#include "server/base/agenda.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/post.h"
#include "server/base/turn.h"
#include "server/job/attempt.h"
#include "server/job/census.h"
#include "server/job/failures.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/run/erase.h"
#include "server/life/run/forget.h"
#include "server/life/run/prepare.h"
#include "server/life/run/restart.h"
#include "server/server.h"
#include "server/site/realm.h"
#include "store/store.h"

#define FORGETS_MOST 1000 /* maximum jobs dropped per turn */

static void outcome_free(struct outcome *o)
{
	if (!o)
		return;
	free(o->exec_host);
	free(o->saves);
	free(o->comment);
	free(o);
}

static void output_forget(const struct server *s, uint32_t id)
{
	static const char *const suffix[] = {"out", "err"};
	char tag[64], path[4200];

	attempt_tag(s, id, 0, tag);
	*strrchr(tag, '.') = '\0';
	for (int i = 0; i < 2 && s->realm->listener; i++) {
		snprintf(path, sizeof path, "%s/undelivered/%s.%s", s->instance->where.state, tag, suffix[i]);
		unlink(path);
	}
}

/* Returns true if other jobs depend on it: it is then kept. */
static bool is_awaited(const struct server *s, uint64_t number)
{
	return map_get(&s->jobs->dependents, number, &(uint64_t){0});
}

void script_unref(struct server *s, uint64_t script)
{
	uint64_t *uses;

	if (!script)
		return;
	uses = map_at(&s->jobs->scripts, script);
	if (*uses > 1) {
		--*uses;
		return;
	}
	map_remove(&s->jobs->scripts, script);
	store_drop_script(s->store, script);
	script_file_drop(s, script);
}

/* Takes an entry out of the chain of its owner's entries. */
static void chain_leave(struct server *s, const struct entry *e)
{
	if (e->before)
		entry_get(s, e->before)->after = e->after;
	if (e->after)
		entry_get(s, e->after)->before = e->before;
	else
		tally_of(s, e->spec->owner, 0)->newest = e->before;
}

static void entry_drop(struct server *s, uint32_t id)
{
	struct entry *e = entry_get(s, id);

	chain_leave(s, e);
	output_forget(s, id);
	erase_add(s, id);
	outcome_free(e->outcome);
	e->outcome = NULL;
	failures_free(e->failures);
	e->failures = NULL;
	if (e->away)
		free(e->away->id);
	free(e->away);
	e->away = NULL;
	spec_unref(e->spec);
	e->spec = NULL;
	census_mark(s, id);
	entry_release(s, id);
}

/* Counts an element that may be forgotten. The array is dropped as a whole after the last one,
 * since it has one record in the store. */
static void array_forget(struct server *s, struct array *a)
{
	uint64_t at = 0;

	if (++a->due < a->count)
		return;
	for (uint32_t i = 0; i < a->count; i++)
		entry_drop(s, a->first + i);
	store_drop_job(s->store, job_key(a->number, -1));
	script_unref(s, a->spec->script);
	map_get(&s->jobs->by_number, a->number, &at);
	vec_push(&s->jobs->spare_arrays, (uint32_t)(at & ~ARRAY_BIT));
	map_remove(&s->jobs->by_number, a->number);
	struct limit_party party = spec_party(a->spec, a->number);
	limits_drop_array(s->limits, &party);
	spec_unref(a->spec);
	a->spec = NULL;
}

/* Drops a job from memory and store. */
static void entry_forget(struct server *s, uint32_t id)
{
	const struct entry *e = entry_get(s, id);
	uint64_t number = job_key_number(e->key);
	struct array *a = array_find(s, number);

	if (!e->spec || !entry_ended(s, id))
		return;
	/* Processes of a purged job may still exist and hold CPUs: without the job a restart
	 * would not know of them. */
	if (is_awaited(s, number) || restart_awaits(s, number) || (a && a->ended < a->count) ||
	    attempt_lingers(s, id, entry_job(s, id)->attempt + 1)) {
		heap_push(&s->agenda->forgets, s->clock->now + 60, id, 0);
		return;
	}
	if (a) {
		array_forget(s, a);
		return;
	}
	store_drop_job(s->store, e->key);
	script_unref(s, e->spec->script);
	map_remove(&s->jobs->by_number, number);
	entry_drop(s, id);
}

void forgets_turn(struct server *s)
{
	struct heap_item x;

	if (s->post->mails.n) /* they are about jobs */
		return;
	for (int i = 0; i < FORGETS_MOST && heap_peek(&s->agenda->forgets, &x) && x.time <= s->clock->now; i++) {
		heap_pop(&s->agenda->forgets, &x);
		entry_forget(s, (uint32_t)x.tie);
	}
}

int64_t forgets_next(const struct server *s)
{
	struct heap_item x;

	return !s->turn->trouble && heap_peek(&s->agenda->forgets, &x) ? x.time * 1000000 : TIME_NEVER;
}
