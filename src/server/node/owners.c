/*
 * owners.c - see owners.h.
 */
#include "server/node/owners.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/mem.h"
#include "core/cluster.h"
#include "server/base/clock.h"
#include "server/node/nodes.h"
#include "server/server.h"

static const struct {
	const char *name;
	size_t at;
} numbers[] = {
	{"given", offsetof(struct node_owner, given)}, {"claimed", offsetof(struct node_owner, claimed)},
	{"lost", offsetof(struct node_owner, lost)},   {"stops", offsetof(struct node_owner, stops)},
	{"left", offsetof(struct node_owner, left)},
};
#define NUMBERS (sizeof numbers / sizeof *numbers)

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

/* Numbers of another machine: never less than none, and small enough to be added up. */
void owner_take(struct node_owner *o, const json_t *news)
{
	const char *habit = json_string_value(json_object_get(news, "habit"));

	for (size_t i = 0; i < NUMBERS; i++) {
		int64_t n = json_integer_value(json_object_get(news, numbers[i].name));
		*(int64_t *)((char *)o + numbers[i].at) = n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : n;
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

static void owner_write(const struct node_owner *o, struct json *j)
{
	char habit[HABIT_HOURS + 1];

	for (size_t i = 0; i < NUMBERS; i++)
		json_int(j, numbers[i].name, *(const int64_t *)((const char *)o + numbers[i].at));
	habit_text(&o->habit, habit);
	json_text(j, "habit", habit);
	json_open_array(j, "gpus");
	for (int i = 0; i < 64; i++)
		if (o->gpus >> i & 1)
			json_int(j, NULL, i);
	json_close_array(j);
}

void owner_store(const struct node_info *n, struct json *j)
{
	if (!n->owner)
		return;
	json_text(j, "workstation", n->owner->policy);
	json_open_object(j, "owner");
	owner_write(n->owner, j);
	if (n->owner->why)
		json_text(j, "why", n->owner->why);
	json_close_object(j);
}

void owner_restore(struct node_info *n, const json_t *record)
{
	const json_t *o = json_object_get(record, "owner");
	const char *why = json_string_value(json_object_get(o, "why"));

	owner_policy_set(n, json_string_value(json_object_get(record, "workstation")));
	if (!n->owner)
		return;
	owner_take(n->owner, o);
	n->owner->why = why ? mem_strdup(why) : NULL;
}

void owner_show(const struct node_info *n, struct json *j)
{
	json_text(j, "workstation", n->owner ? n->owner->policy : NULL);
	if (!n->owner)
		return;
	json_open_object(j, "owner");
	json_bool(j, "claims", node_claimed(&n->life));
	if (node_claimed(&n->life)) {
		json_int(j, "since", n->life.claimed);
		json_text(j, "why", n->owner->why);
	}
	owner_write(n->owner, j);
	json_close_object(j);
}
