/*
 * overlays.c - see overlays.h.
 */
#include "server/settings/overlays.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "core/cluster.h"
#include "server/base/clock.h"
#include "server/server.h"
#include "store/store.h"

#define ALLOCATIONS_MOST 100 /* that are kept, unless more are not over */
#define PORT_OBJECT ":port"  /* no overlay has such a name */

void overlay_text(char **at, const char *text)
{
	char *copy = text && *text ? mem_strdup(text) : NULL;

	free(*at);
	*at = copy;
}

struct overlay *overlay_find(const struct server *s, const char *name)
{
	for (size_t i = 0; i < s->overlays->list.n; i++)
		if (strcmp(s->overlays->list.v[i]->name, name) == 0)
			return s->overlays->list.v[i];
	return NULL;
}

struct overlay *overlay_add(struct server *s, const char *name, const char *place, const char *words, const char *tag)
{
	struct overlay *o = mem_zalloc(sizeof *o);
	size_t at = s->overlays->list.n;

	o->name = mem_strdup(name);
	o->place = mem_strdup(place);
	o->words = mem_strdup(words);
	o->tag = mem_strdup(tag);
	while (at > 0 && strcmp(s->overlays->list.v[at - 1]->name, name) > 0)
		at--;
	vec_insert(&s->overlays->list, at, o);
	return o;
}

/* Of such a node only the CPUs are known, and that it has neither GPUs nor resources of the site's own names. */
static void coming_set(struct server *s)
{
	struct res most = {0};

	for (size_t i = 0; i < s->overlays->list.n; i++)
		if (!s->overlays->list.v[i]->removed && s->overlays->list.v[i]->cpus > most.v[RES_CPU])
			most = (struct res){.v = {[RES_CPU] = s->overlays->list.v[i]->cpus,
						  [RES_MEM] = INT64_MAX / 4,
						  [RES_DISK] = INT64_MAX / 4,
						  [RES_SWAP] = INT64_MAX / 4}};
	s->cluster->coming = most;
}

/* As many slots as nodes; those that are taken stay. */
static void slots_fit(struct overlay *o)
{
	while ((int64_t)o->slots.n < o->nodes)
		vec_push(&o->slots, (struct overlay_slot){0});
	while ((int64_t)o->slots.n > o->nodes && o->slots.v[o->slots.n - 1].request == 0)
		o->slots.n--;
}

struct overlay_allocation *overlay_allocation(struct overlay *o, int64_t id)
{
	for (size_t i = o->allocations.n; i-- > 0;)
		if (o->allocations.v[i].id == id)
			return &o->allocations.v[i];
	return NULL;
}

/* The oldest that are over go. */
static void allocations_fit(struct overlay *o)
{
	for (size_t i = 0; i < o->allocations.n && o->allocations.n > ALLOCATIONS_MOST;)
		if (o->allocations.v[i].ended)
			vec_remove(&o->allocations, i);
		else
			i++;
}

static json_t *allocations_pack(const struct overlay *o)
{
	json_t *all = json_array();

	for (size_t i = 0; i < o->allocations.n; i++) {
		const struct overlay_allocation *a = &o->allocations.v[i];
		json_array_append_new(all, json_pack("[I, I, I, I, I, I, s]", (json_int_t)a->id, (json_int_t)a->nodes,
						     (json_int_t)a->submitted, (json_int_t)a->started,
						     (json_int_t)a->ended, (json_int_t)a->used, a->job));
	}
	return all;
}

static void allocations_restore(struct overlay *o, const json_t *all)
{
	const json_t *x;
	size_t i;

	json_array_foreach(all, i, x)
	{
		struct overlay_allocation a = {.id = json_integer_value(json_array_get(x, 0)),
					       .nodes = json_integer_value(json_array_get(x, 1)),
					       .submitted = json_integer_value(json_array_get(x, 2)),
					       .started = json_integer_value(json_array_get(x, 3)),
					       .ended = json_integer_value(json_array_get(x, 4)),
					       .used = json_integer_value(json_array_get(x, 5))};
		const char *job = json_string_value(json_array_get(x, 6));
		snprintf(a.job, sizeof a.job, "%s", job ? job : "");
		vec_push(&o->allocations, a);
	}
}

void overlay_store(struct server *s, struct overlay *o)
{
	json_t *slots = json_array(), *x;

	slots_fit(o);
	coming_set(s);
	allocations_fit(o);
	o->stored = s->clock->now;
	for (size_t i = 0; i < o->slots.n; i++)
		json_array_append_new(
			slots, json_pack("[I, I]", (json_int_t)o->slots.v[i].request, (json_int_t)o->slots.v[i].token));
	x = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:b, s:b, s:s?, s:I, s:o, s:[I, I, I, I], s:o, s:I}",
		      "place", o->place, "words", o->words, "tag", o->tag, "nodes", (json_int_t)o->nodes, "seconds",
		      (json_int_t)o->seconds, "cpus", (json_int_t)o->cpus, "idle", (json_int_t)o->idle, "paused",
		      o->paused, "removed", o->removed, "why", o->why, "last", (json_int_t)o->last, "slots", slots,
		      "most", (json_int_t)o->most.v[RES_CPU], (json_int_t)o->most.v[RES_MEM],
		      (json_int_t)o->most.v[RES_DISK], (json_int_t)o->most.v[RES_SWAP], "allocations",
		      allocations_pack(o), "counted", (json_int_t)o->counted);
	char *text = json_dumps(x, JSON_COMPACT);
	store_put_object(s->store, "overlay", o->name, text);
	free(text);
	json_decref(x);
}

void overlay_drop(struct server *s, struct overlay *o)
{
	store_drop_object(s->store, "overlay", o->name);
	for (size_t i = 0; i < s->overlays->list.n; i++)
		if (s->overlays->list.v[i] == o) {
			vec_remove(&s->overlays->list, i);
			break;
		}
	free(o->name);
	free(o->place);
	free(o->words);
	free(o->tag);
	free(o->why);
	free(o->trouble);
	vec_free(&o->slots);
	vec_free(&o->requests);
	vec_free(&o->allocations);
	free(o);
	coming_set(s);
}

const char *overlays_listen(const struct server *s)
{
	static char text[16];

	snprintf(text, sizeof text, "%d", s->overlays->port);
	return s->overlays->list.n ? text : NULL;
}

void overlays_opened(struct server *s, int port)
{
	char text[32];

	if (s->overlays->port == port)
		return;
	s->overlays->port = port;
	snprintf(text, sizeof text, "{\"port\":%d}", port);
	store_put_object(s->store, "overlay", PORT_OBJECT, text);
}

static int64_t number_of(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

int overlay_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	const char *place = json_string_value(json_object_get(o, "place")),
		   *words = json_string_value(json_object_get(o, "words")),
		   *tag = json_string_value(json_object_get(o, "tag"));
	static const int dims[] = {RES_CPU, RES_MEM, RES_DISK, RES_SWAP};
	struct overlay *x;
	json_t *slot, *most;
	size_t i;

	if (strcmp(name, PORT_OBJECT) == 0) {
		s->overlays->port = (int)number_of(o, "port");
		return 0;
	}
	if (!place || !words || !tag)
		return err_set(err, -EINVAL, "it has no place, no words or no tag");
	x = overlay_add(s, name, place, words, tag);
	x->nodes = number_of(o, "nodes");
	x->seconds = number_of(o, "seconds");
	x->cpus = number_of(o, "cpus");
	x->idle = number_of(o, "idle");
	x->last = number_of(o, "last");
	x->paused = json_is_true(json_object_get(o, "paused"));
	x->removed = json_is_true(json_object_get(o, "removed"));
	overlay_text(&x->why, json_string_value(json_object_get(o, "why")));
	json_array_foreach(json_object_get(o, "slots"), i, slot)
	{
		struct overlay_slot fresh = {.request = json_integer_value(json_array_get(slot, 0)),
					     .token = (uint64_t)json_integer_value(json_array_get(slot, 1))};
		vec_push(&x->slots, fresh);
	}
	most = json_object_get(o, "most");
	for (i = 0; i < json_array_size(most) && i < sizeof dims / sizeof *dims; i++)
		x->most.v[dims[i]] = json_integer_value(json_array_get(most, i));
	allocations_restore(x, json_object_get(o, "allocations"));
	x->counted = number_of(o, "counted");
	slots_fit(x);
	coming_set(s);
	return 0;
}
