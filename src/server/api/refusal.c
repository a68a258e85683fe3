/*
 * refusal.c - see refusal.h.
 */
#include "server/api/refusal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "server/api/audience.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/server.h"
#include "store/store.h"

#define KEEP (30 * 86400) /* seconds */

struct refusal {
	uid_t uid;
	char *why;
};

/* Owned by the server's audience. */
struct refusals {
	struct map by_number; /* -> struct refusal * */
};

static void refusal_add(struct server *s, uint64_t number, uid_t uid, const char *why)
{
	struct refusal *x = mem_zalloc(sizeof *x);

	if (!s->audience->refusals)
		s->audience->refusals = mem_zalloc(sizeof *s->audience->refusals);
	*x = (struct refusal){uid, mem_strdup(why)};
	map_set(&s->audience->refusals->by_number, number, (uint64_t)(uintptr_t)x);
}

void refusal_keep(struct server *s, uint64_t number, uid_t uid, const char *why)
{
	struct strbuf value = {0};
	char name[24];
	struct json j;

	if (s->audience->refusals && map_get(&s->audience->refusals->by_number, number, &(uint64_t){0}))
		return; /* of a start before that did not get further */
	refusal_add(s, number, uid, why);
	snprintf(name, sizeof name, "%" PRIu64, number);
	json_init(&j, &value, false);
	json_open_object(&j, NULL);
	json_int(&j, "uid", uid);
	json_int(&j, "time", s->clock->now);
	json_text(&j, "why", why);
	json_close_object(&j);
	store_put_object(s->store, "refusal", name, value.text);
	strbuf_fini(&value);
}

int refusal_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	const char *why = json_string_value(json_object_get(o, "why"));
	const json_t *uid = json_object_get(o, "uid");
	char *end;
	uint64_t number = strtoull(name, &end, 10);

	if (*end || number == 0 || !why || !json_is_integer(uid))
		return err_set(err, -EINVAL, "it is not a refusal");
	if (json_integer_value(json_object_get(o, "time")) + KEEP < s->clock->now)
		store_drop_object(s->store, "refusal", name);
	else
		refusal_add(s, number, (uid_t)json_integer_value(uid), why);
	return 0;
}

const char *refusal_find(const struct server *s, const struct asker *w, uint64_t number)
{
	const struct refusal *x;
	uint64_t at;

	if (!s->audience->refusals || !map_get(&s->audience->refusals->by_number, number, &at))
		return NULL;
	x = (const struct refusal *)(uintptr_t)at;
	return x->uid == w->uid || w->role >= ROLE_OPERATOR ? x->why : NULL;
}
