/*
 * owners.c - see owners.h.
 */
#include "server/node/owners.h"

#include <stdlib.h>
#include <time.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/mem.h"
#include "core/cluster.h"
#include "server/base/clock.h"
#include "server/node/nodes.h"
#include "server/server.h"

enum { COUNTED = 1 << 0, KEPT = 1 << 1 };

/* Argument of the getters. */
struct subject {
	struct node_owner owner;
};

static void get_habit(const struct subject *x, struct value *v)
{
	char habit[HABIT_HOURS + 1];

	habit_text(&x->owner.habit, habit);
	strbuf_puts(&v->scratch, habit);
	v->text = strbuf_text(&v->scratch);
	v->kind = VALUE_TEXT;
}

static void gpus_write(const struct subject *x, struct json *j)
{
	for (int i = 0; i < 64; i++)
		if (x->owner.gpus >> i & 1)
			json_int(j, NULL, i);
}

const struct schema owner_answer = {FIELDS(
	{"claims", .is = REQUIRED | IS_BOOL, "its owner has it now: no job starts there"},
	{"since", .is = IS_INSTANT, "of the claim"},
	{"why", .is = IS_TEXT | IS_NULL, "what speaks for the owner", .in = KEPT, MEMBER(struct node_owner, why)},
	{"given", .is = REQUIRED | IS_INT, "seconds of processor time that jobs had there", .in = COUNTED,
	 MEMBER(struct node_owner, given)},
	{"claimed", .is = REQUIRED | IS_INT, "seconds that its owner had it", .in = COUNTED,
	 MEMBER(struct node_owner, claimed)},
	{"lost", .is = REQUIRED | IS_INT,
	 "seconds of processor time of jobs that had to leave, which are in no checkpoint", .in = COUNTED,
	 MEMBER(struct node_owner, lost)},
	{"stops", .is = REQUIRED | IS_INT, "how often jobs were stopped there", .in = COUNTED,
	 MEMBER(struct node_owner, stops)},
	{"left", .is = REQUIRED | IS_INT, "how many parts of jobs had to leave", .in = COUNTED,
	 MEMBER(struct node_owner, left)},
	{"gpus", .is = REQUIRED | IS_LIST, "indexes of those that the owner's programs use: jobs get the others",
	 .item = IS_INT, .in = COUNTED, .inside = gpus_write},
	{"habit", .is = REQUIRED | IS_TEXT,
	 "the owner's usual hours: a letter for each hour of the week from Sunday on, a (never) to u (always), . (not known)",
	 .in = COUNTED, .get = get_habit})};

static void owner_free(struct node_owner *o)
{
	if (!o)
		return;
	free(o->policy);
	free(o->why);
	free(o);
}

const char *owner_policy(const struct node_info *n)
{
	return n->owner ? n->owner->policy : "";
}

void owner_policy_set(struct node_info *n, const char *policy)
{
	if (!policy || !*policy) {
		owner_free(n->owner);
		n->owner = NULL;
		return;
	}
	if (!n->owner) {
		n->owner = mem_zalloc(sizeof *n->owner);
		habit_init(&n->owner->habit);
	}
	free(n->owner->policy);
	n->owner->policy = mem_strdup(policy);
}

/* Takes over the numbers of another machine, clamped to be non-negative and small enough to be
 * added. */
void owner_take(struct node_owner *o, const json_t *news)
{
	const char *habit = json_string_value(json_object_get(news, "habit"));

	record_load(owner_answer.fields, COUNTED, news, o, NULL, NULL);
	for (const struct field *f = owner_answer.fields; f->name; f++)
		if (f->form == FORM_I64) {
			int64_t *n = (int64_t *)(void *)((char *)o + f->at);
			*n = *n < 0 ? 0 : *n > INT32_MAX ? INT32_MAX : *n;
		}
	if (habit)
		habit_read(habit, &o->habit);
	o->gpus = owner_gpus_read(json_object_get(news, "gpus"));
}

uint64_t owner_gpus_read(const json_t *list)
{
	uint64_t gpus = 0;
	const json_t *v;
	size_t i;

	json_array_foreach(list, i, v) if (json_integer_value(v) >= 0 && json_integer_value(v) < 64) gpus |=
		UINT64_C(1) << json_integer_value(v);
	return gpus;
}

uint64_t owner_gpus_of(const struct node_info *n, int64_t gpus)
{
	uint64_t all = gpus >= 64 ? UINT64_MAX : (UINT64_C(1) << (gpus > 0 ? gpus : 0)) - 1;

	return n->owner ? n->owner->gpus & all : 0;
}

void owner_plan(struct server *s, uint32_t node)
{
	struct node_owner *o = s->hosts->nodes.v[node].owner;
	time_t now = (time_t)s->clock->now;
	struct tm tm;

	if (o)
		habit_utc(&o->habit, localtime_r(&now, &tm) ? tm.tm_gmtoff : 0, &o->utc);
	s->cluster->nodes.v[node].habit = o && habit_known(&o->utc) ? &o->utc : NULL;
	s->cluster->habits = false;
	for (size_t i = 0; i < s->cluster->nodes.n && !s->cluster->habits; i++)
		s->cluster->habits = s->cluster->nodes.v[i].habit;
}

void owner_forget(struct server *s, uint32_t node)
{
	owner_policy_set(&s->hosts->nodes.v[node], NULL);
	owner_plan(s, node);
}

void owner_store(const struct node_info *n, struct json *j)
{
	if (!n->owner)
		return;
	json_text(j, "workstation", n->owner->policy);
	json_open_object(j, "owner");
	record_show(owner_answer.fields, COUNTED, n->owner, NULL, j);
	record_store(owner_answer.fields, KEPT, n->owner, NULL, j);
	json_close_object(j);
}

void owner_restore(struct node_info *n, const json_t *record)
{
	const json_t *o = json_object_get(record, "owner");

	owner_policy_set(n, json_string_value(json_object_get(record, "workstation")));
	if (!n->owner)
		return;
	owner_take(n->owner, o);
	record_load(owner_answer.fields, KEPT, o, n->owner, NULL, NULL);
}

void owner_show(const struct node_info *n, struct json *j)
{
	bool claims = node_claimed(&n->life);

	if (!n->owner)
		return;
	json_bool(j, "claims", claims);
	if (claims)
		json_int(j, "since", n->life.claimed);
	record_show(owner_answer.fields, claims ? COUNTED | KEPT : COUNTED, n->owner, NULL, j);
}
