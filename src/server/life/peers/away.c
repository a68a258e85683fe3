/*
 * away.c - see away.h.
 */
#include "server/life/peers/away.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/job.h"
#include "rules/gate.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/base/words.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/enter/move.h"
#include "server/life/world/block.h"
#include "server/life/world/dispatch.h"
#include "server/server.h"
#include "server/settings/remotes.h"
#include "server/site/realm.h"
#include "store/store.h"

static const char *site_name(const struct server *s, uint32_t id)
{
	const char *queue = word_text(s, entry_get(s, id)->spec->queue), *at = strchr(queue, '@');

	return at ? at + 1 : queue;
}

/* Returns a copy of its state, to be changed and stored. */
static struct away away_now(const struct server *s, uint32_t id)
{
	const struct away *a = entry_get(s, id)->away;

	struct away now = a ? *a : (struct away){0};

	now.from = 0; /* keeps the stored value */
	return now;
}

static void away_put(struct server *s, uint32_t id, const struct away *a, const struct payload *what)
{
	struct payload p = *what;
	/* the fold frees its own copy before the event is stored */
	char *there = a->id ? mem_strdup(a->id) : NULL;

	p.away = *a;
	p.away.id = there;
	entry_event(s, id, EVENT_AWAY, &p);
	free(there);
	s->turn->dirty = true;
}

static bool in_remote(const struct server *s, uint32_t id)
{
	const struct entry *e = entry_get(s, id);

	return e->spec && !entry_ended(s, id) && queue_is_remote(word_text(s, e->spec->queue));
}

bool away_any(struct server *s)
{
	job_vec *v = &s->jobs->leaving;
	size_t kept = 0;

	for (size_t i = 0; i < v->n && kept == 0; i++) /* one that is still there is enough */
		if (in_remote(s, v->v[i]))
			kept = i + 1;
		else
			entry_get(s, v->v[i])->leaving = false;
	if (kept > 1) {
		memmove(v->v, v->v + kept - 1, (v->n - kept + 1) * sizeof *v->v);
		v->n -= kept - 1;
	} else if (kept == 0) {
		v->n = 0;
	}
	return kept > 0;
}

/* Returns true if as many elements of its array are away as may run at once. */
static bool is_throttled(const struct server *s, uint32_t id)
{
	uint64_t key = entry_get(s, id)->key;
	const struct array *whole = job_key_index(key) >= 0 ? array_find(s, job_key_number(key)) : NULL;

	return whole && whole->limit && whole->away >= whole->limit;
}

bool away_due(struct server *s, uint32_t id)
{
	struct away a = away_now(s, id);
	char text[160];

	if (!in_remote(s, id) || !queue_site(s, word_text(s, entry_get(s, id)->spec->queue)))
		return false;
	if (a.phase != AWAY_NOT)
		return true;
	if (gate_blocks(s->gate, id) != BLOCK_QUEUE || is_throttled(s, id))
		return false;
	a = (struct away){.phase = AWAY_OFFERED, .try = a.try + 1};
	snprintf(text, sizeof text, "offered to site %.60s", site_name(s, id));
	away_put(s, id, &a, &(struct payload){.text = text});
	return true;
}

void away_key(const struct server *s, uint32_t id, char ret[KEY_MAX + 1])
{
	const struct entry *e = entry_get(s, id);
	char name[AWAY_NAME];

	away_name(s, id, name);
	snprintf(ret, KEY_MAX + 1, "site:%.24s:%.22s:%u", s->realm->authority.fingerprint, name,
		 e->away ? e->away->try : 0);
}

void away_name(const struct server *s, uint32_t id, char ret[AWAY_NAME])
{
	uint64_t key = entry_get(s, id)->key;
	int n = snprintf(ret, AWAY_NAME, "%llu", (unsigned long long)job_key_number(key));

	if (job_key_index(key) >= 0)
		snprintf(ret + n, AWAY_NAME - (size_t)n, "-%lld", (long long)job_key_index(key));
}

bool away_find(const struct server *s, const char *name, uint32_t *ret)
{
	char *end;
	uint64_t number = strtoull(name, &end, 10);
	int64_t index = *end == '-' ? (int64_t)strtoul(end + 1, &end, 10) : -1;

	return *end == '\0' && entry_find(s, number, index, ret) && entry_away(entry_get(s, *ret)) &&
	       !entry_ended(s, *ret);
}

void away_explain(const struct server *s, uint32_t id, struct strbuf *out)
{
	const struct entry *e = entry_get(s, id);

	if (e->outcome && e->outcome->comment)
		strbuf_puts(out, e->outcome->comment);
	else if (entry_away(e))
		strbuf_printf(out, "it is being handed over to site %s", site_name(s, id));
	else
		strbuf_printf(out, "it will be handed over to site %s", site_name(s, id));
}

/* ---- requests of the owner ---- */

void away_delete(struct server *s, uint32_t id, const char *why, const char *who)
{
	struct away a = away_now(s, id);

	a.wish = WISH_DELETE;
	away_put(s, id, &a, &(struct payload){.text = "asked to be deleted", .comment = why, .who = who});
}

int away_return(struct server *s, uint32_t id, const char *queue, const char *who, struct err *err)
{
	struct away a = away_now(s, id);

	if (a.phase == AWAY_THERE)
		return away_refuse(s, id, err);
	a.wish = WISH_RETURN;
	a.from = word_add(s, queue);
	away_put(s, id, &a, &(struct payload){.text = "asked to return", .who = who});
	return 0;
}

int away_refuse(const struct server *s, uint32_t id, struct err *err)
{
	const struct away *a = entry_get(s, id)->away;

	if (a->phase == AWAY_THERE)
		return err_code(err, CODE_BAD_STATE,
				"it is at site %.60s, as job %.80s: change it there, or delete it here",
				site_name(s, id), a->id);
	return err_code(
		err, CODE_BAD_STATE,
		"it is being handed over to site %.60s, which has not answered yet: 'qmove QUEUE %llu' takes it back "
		"if that site does not have it",
		site_name(s, id), (unsigned long long)job_key_number(entry_get(s, id)->key));
}

/* ---- reports of the courier ---- */

static bool is_try(const struct server *s, uint32_t id, uint32_t try, unsigned phases)
{
	const struct entry *e = entry_get(s, id);

	return e->spec && !entry_ended(s, id) && e->away && e->away->try == try && phases & 1u << e->away->phase;
}

/* Writes the id of an element at the site, where it is an array of its own: for "7[].east" it is
 * "7[3].east". */
static void element_there(const struct server *s, uint32_t id, const char *there, struct strbuf *ret)
{
	int64_t index = job_key_index(entry_get(s, id)->key);
	const char *open = index >= 0 ? strstr(there, "[]") : NULL;

	if (open)
		strbuf_printf(ret, "%.*s[%lld]%s", (int)(open - there), there, (long long)index, open + 2);
	else
		strbuf_puts(ret, there);
}

void away_accepted(struct server *s, uint32_t id, uint32_t try, const char *answered)
{
	struct strbuf name = {0};
	char text[200];

	if (!is_try(s, id, try, 1u << AWAY_OFFERED))
		return;
	element_there(s, id, answered, &name);
	const char *there = strbuf_text(&name);
	struct away a = away_now(s, id);
	a.phase = AWAY_THERE;
	*a.state = 'Q';
	a.id = (char *)there;
	snprintf(text, sizeof text, "at site %.60s as job %.80s", site_name(s, id), there);
	away_put(s, id, &a, &(struct payload){.text = text, .comment = text});
	strbuf_fini(&name);
}

/* Puts a returned job into the queue it came from or was requested for, if that still exists;
 * otherwise the job stays where it is, held. */
static void settle_back(struct server *s, uint32_t id, bool wanted, const char *why)
{
	struct entry *e = entry_get(s, id);
	const struct queue *q = queue_of(s, e->away->from);
	struct arena *arena = arena_create();
	struct err err;
	int rc = -1;

	if (q)
		rc = job_move(s, id, q->name, wanted ? MOVER_OWNER : MOVER_OPERATOR, NULL, arena, &err);
	if (rc < 0) {
		entry_event(s, id, EVENT_HOLDS,
			    &(struct payload){
				    .holds = e->holds | BLOCK_USER, .text = "held", .comment = q ? err.text : why});
		block_set(s, id, BLOCK_USER);
	}
	arena_destroy(arena);
}

void away_back(struct server *s, uint32_t id, uint32_t try, const char *why)
{
	char text[500];

	if (!is_try(s, id, try, 1u << AWAY_OFFERED | 1u << AWAY_THERE))
		return;
	struct away a = away_now(s, id);
	uint8_t wish = a.wish;
	a = (struct away){.phase = AWAY_NOT, .try = a.try};
	snprintf(text, sizeof text, "site %.60s %s%.400s", site_name(s, id),
		 why ? "does not accept it: " : "does not have it", why ? why : "");
	away_put(s, id, &a, &(struct payload){.text = text, .comment = text, .refused = why != NULL});
	if (wish == WISH_DELETE)
		job_end_waiting(s, id, END_DELETED, &(struct payload){.text = "deleted before another site had it"});
	else
		settle_back(s, id, wish == WISH_RETURN, text);
}

void away_state(struct server *s, uint32_t id, uint32_t try, char state, bool guaranteed)
{
	const struct entry *e = entry_get(s, id);
	char text[240];

	if (!is_try(s, id, try, 1u << AWAY_THERE) || !state || !strchr("QRHWSE", state))
		return;
	struct away a = away_now(s, id);
	snprintf(text, sizeof text, "at site %.60s as job %.80s%s", site_name(s, id), a.id,
		 e->spec->kind == KIND_COMMON ? ""
		 : guaranteed		      ? ", where its deadline is guaranteed"
					      : ", where its deadline is not guaranteed");
	if (*a.state == state && e->outcome && e->outcome->comment && strcmp(e->outcome->comment, text) == 0)
		return;
	*a.state = state;
	away_put(s, id, &a, &(struct payload){.text = text, .comment = text});
}

/* limit on seconds or KiB: another site's numbers may be anything */
#define SPAN_MOST INT64_C(1000000000000)

static int64_t span(const json_t *o, const char *key, int64_t scale)
{
	int64_t v = json_integer_value(json_object_get(o, key));

	return (v < 0 ? 0 : v > SPAN_MOST ? SPAN_MOST : v) * scale;
}

void away_ended(struct server *s, uint32_t id, uint32_t try, const json_t *job, const char *comment)
{
	const char *cause = json_string_value(json_object_get(job, "cause")),
		   *said = json_string_value(json_object_get(job, "comment"));
	const json_t *used = json_object_get(job, "used");
	struct payload p = {.exit_status = (int32_t)json_integer_value(json_object_get(job, "exit_status")),
			    .cause = END_ITSELF};
	char text[700];

	if (!is_try(s, id, try, 1u << AWAY_THERE))
		return;
	for (int i = 0; cause && i < END_COUNT; i++)
		if (cause_name((uint8_t)i) && strcmp(cause_name((uint8_t)i), cause) == 0)
			p.cause = (uint8_t)i;
	if (json_is_object(used)) {
		p.used = true;
		p.cpu_ms = span(used, "cput", 1000);
		p.memory_kib = span(used, "memory", 1);
		p.ran_ms = span(used, "walltime", 1000);
		p.started_us = span(job, "started", 1000000);
		p.ended_us = span(job, "ended", 1000000);
	}
	snprintf(text, sizeof text, "ran at site %.60s as job %.80s%s%.240s%s%.240s", site_name(s, id),
		 entry_get(s, id)->away->id, said ? ": " : "", said ? said : "", comment ? "; " : "",
		 comment ? comment : "");
	p.text = text;
	sched_delete(s->sched, id, s->clock->now, &p);
	s->turn->dirty = true;
}

void away_trouble(struct server *s, uint32_t id, uint32_t try, const char *why)
{
	const struct outcome *o = entry_get(s, id)->outcome;
	char text[500];

	if (!is_try(s, id, try, 1u << AWAY_OFFERED | 1u << AWAY_THERE))
		return;
	struct away a = away_now(s, id);
	snprintf(text, sizeof text, "site %.60s can't be asked: %.400s", site_name(s, id), why);
	if (o && o->comment && strcmp(o->comment, text) == 0)
		return;
	away_put(s, id, &a, &(struct payload){.text = text, .comment = text});
}
