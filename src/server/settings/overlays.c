/*
 * overlays.c - see overlays.h.
 */
#include "server/settings/overlays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/codec_array.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "core/cluster.h"
#include "server/base/clock.h"
#include "server/server.h"
#include "store/store.h"

#define ALLOCATIONS_MOST 100 /* allocations kept; those that are not over are always kept */
#define PORT_OBJECT ":port"  /* cannot be the name of an overlay */

/* ---- records in the store ---- */

#define HAS(member) MEMBER(struct overlay, member)

static const struct field overlay_rows[] = {
	{"place", .is = IS_TEXT, .in = ALWAYS, HAS(place)},
	{"words", .is = IS_TEXT, .in = ALWAYS, HAS(words)},
	{"tag", .is = IS_TEXT, .in = ALWAYS, HAS(tag)},
	{"nodes", .is = IS_INT, HAS(nodes)},
	{"seconds", .is = IS_INT, HAS(seconds)},
	{"cpus", .is = IS_INT, HAS(cpus)},
	{"idle", .is = IS_INT, HAS(idle)},
	{"paused", .is = IS_BOOL, HAS(paused)},
	{"removed", .is = IS_BOOL, HAS(removed)},
	{"why", .is = IS_TEXT, HAS(why)},
	{"last", .is = IS_INT, HAS(last)},
	{"counted", .is = IS_INT, HAS(counted)},
	{0},
};

/* The rows below are stored as lists of values, in this order. */
static const struct field slot_rows[] = {
	{"request", .is = IS_INT, MEMBER(struct overlay_slot, request)},
	{"token", .is = IS_INT, MEMBER(struct overlay_slot, token)},
	{0},
};
static const struct field most_rows[] = {
	{"cpus", .is = IS_INT, MEMBER(struct res, v[RES_CPU])},
	{"memory", .is = IS_INT, MEMBER(struct res, v[RES_MEM])},
	{"disk", .is = IS_INT, MEMBER(struct res, v[RES_DISK])},
	{"swap", .is = IS_INT, MEMBER(struct res, v[RES_SWAP])},
	{0},
};
const struct schema overlay_allocation_shown = {
	"OverlayAllocation",
	FIELDS({"id", .is = REQUIRED | IS_INT, MEMBER(struct overlay_allocation, id)},
	       {"nodes", .is = REQUIRED | IS_INT, MEMBER(struct overlay_allocation, nodes)},
	       {"submitted", .is = REQUIRED | IS_INSTANT, MEMBER(struct overlay_allocation, submitted)},
	       {"started", .is = REQUIRED | IS_INSTANT | IS_NULL, MEMBER(struct overlay_allocation, started)},
	       {"ended", .is = REQUIRED | IS_INSTANT | IS_NULL, MEMBER(struct overlay_allocation, ended)},
	       {"used", .is = REQUIRED | IS_INT, "seconds of CPUs that jobs had there",
		MEMBER(struct overlay_allocation, used)},
	       {"job", .is = REQUIRED | IS_TEXT | IS_NULL, "what the other cluster calls it",
		MEMBER_CHARS(struct overlay_allocation, job)})};

/* ---- the overlays ---- */

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

struct overlay *overlay_add(struct server *s, const char *name, const struct overlay *given)
{
	struct overlay *o = mem_zalloc(sizeof *o);
	size_t at = s->overlays->list.n;

	*o = *given;
	o->name = mem_strdup(name);
	while (at > 0 && strcmp(s->overlays->list.v[at - 1]->name, name) > 0)
		at--;
	vec_insert(&s->overlays->list, at, o);
	return o;
}

/* Sets the largest node that may come. Only its CPUs are known, and that it has neither GPUs nor
 * site-defined resources. */
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

/* Makes as many slots as nodes; occupied slots stay. */
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

/* Removes the oldest allocations that are over. */
static void allocations_fit(struct overlay *o)
{
	for (size_t i = 0; i < o->allocations.n && o->allocations.n > ALLOCATIONS_MOST;)
		if (o->allocations.v[i].ended)
			vec_remove(&o->allocations, i);
		else
			i++;
}

void overlay_store(struct server *s, struct overlay *o)
{
	struct strbuf text = {0};
	struct json j;

	slots_fit(o);
	coming_set(s);
	allocations_fit(o);
	o->stored = s->clock->now;
	json_begin(&j, &text);
	record_store(overlay_rows, 0, o, NULL, &j);
	json_open_array(&j, "slots");
	for (size_t i = 0; i < o->slots.n; i++)
		values_store(slot_rows, &o->slots.v[i], NULL, &j);
	json_close_array(&j);
	values_store(most_rows, &o->most, "most", &j);
	json_open_array(&j, "allocations");
	for (size_t i = 0; i < o->allocations.n; i++)
		values_store(overlay_allocation_shown.fields, &o->allocations.v[i], NULL, &j);
	json_close_array(&j);
	json_close_object(&j);
	store_put_object(s->store, "overlay", o->name, text.text);
	strbuf_fini(&text);
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
	free(o->trouble);
	record_free(overlay_rows, o);
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

int overlay_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	struct overlay x = {0};
	const json_t *v;
	size_t i;
	int rc;

	if (strcmp(name, PORT_OBJECT) == 0) {
		s->overlays->port = (int)json_integer_value(json_object_get(o, "port"));
		return 0;
	}
	rc = record_load(overlay_rows, 0, o, &x, NULL, err);
	if (rc < 0) {
		record_free(overlay_rows, &x);
		return rc;
	}
	json_array_foreach(json_object_get(o, "slots"), i, v)
	{
		struct overlay_slot slot = {0};
		values_load(slot_rows, v, &slot);
		vec_push(&x.slots, slot);
	}
	json_array_foreach(json_object_get(o, "allocations"), i, v)
	{
		struct overlay_allocation a = {0};
		values_load(overlay_allocation_shown.fields, v, &a);
		vec_push(&x.allocations, a);
	}
	values_load(most_rows, json_object_get(o, "most"), &x.most);
	slots_fit(overlay_add(s, name, &x));
	coming_set(s);
	return 0;
}
