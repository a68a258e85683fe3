/*
 * revoke.c - nodes whose certificates no longer count: they were removed, or have joined again as
 * another machine.
 *
 * This server checks nodes against its own records. Other nodes have only certificates and tickets,
 * so they need the list: it is in the store, each agent gets all of it when it connects, and
 * additions as soon as they are committed. An entry is removed when the last certificate of its
 * node has expired, with a margin for hosts whose clock is behind.
 */
#include <errno.h>
#include <jansson.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "engine/engine.h"
#include "engine/errands.h"
#include "engine/files.h"
#include "engine/tasks.h"
#include "net/listener.h"
#include "server/base/clock.h"
#include "server/server.h"
#include "server/site/realm.h"
#include "server/site/revoke.h"
#include "store/store.h"
#include "tls/revoked.h"

#define MARGIN (30 * INT64_C(86400))
/* lifetime assumed for a certificate whose expiry an older version did not store, seconds */
#define LONGEST (365 * INT64_C(86400))

/* Revoked nodes; owned by the server. */
struct revocations {
	struct revoked list;
	struct revoked news; /* not announced yet */
};

static struct revocations *revocations_of(struct server *s)
{
	if (!s->realm->revocations)
		s->realm->revocations = mem_zalloc(sizeof *s->realm->revocations);
	return s->realm->revocations;
}

const struct revoked *revoked_list(struct server *s)
{
	return &revocations_of(s)->list;
}

void node_revoke(struct server *s, const char *name, uint64_t join, int64_t valid_until)
{
	struct revocations *all = revocations_of(s);
	struct strbuf text = {0};
	struct json j;

	if (!join || !revoked_add(&all->list, name, join))
		return;
	revoked_add(&all->news, name, join);
	json_init(&j, &text, false);
	json_open_object(&j, NULL);
	json_int(&j, "join", (int64_t)join);
	json_int(&j, "until", (valid_until ? valid_until : s->clock->now + LONGEST) + MARGIN);
	json_close_object(&j);
	store_put_object(s->store, "revoked", name, text.text);
	strbuf_fini(&text);
	if (s->realm->listener)
		listener_revoke(s->realm->listener, &all->list);
	if (s->realm->tasks)
		tasks_revoke(s->realm->tasks, &all->list);
	if (engine_errands(s->engine))
		files_revoke(errands_files(engine_errands(s->engine)));
}

int revoke_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	json_int_t join = json_integer_value(json_object_get(o, "join"));

	if (join < 1)
		return err_set(err, -EINVAL, "join must be a number from 1");
	if (json_integer_value(json_object_get(o, "until")) < s->clock->now)
		store_drop_object(s->store, "revoked", name);
	else
		revoked_add(&revocations_of(s)->list, name, (uint64_t)join);
	return 0;
}

static json_t *names_and_joins(const struct revoked *r)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < r->joins.n; i++)
		json_object_set_new(o, names_get(&r->names, i), json_integer((json_int_t)r->joins.v[i]));
	return o;
}

json_t *revoked_json(struct server *s)
{
	return names_and_joins(revoked_list(s));
}

json_t *revoked_news(struct server *s)
{
	struct revoked *news = s->realm->revocations ? &s->realm->revocations->news : NULL;
	json_t *o;

	if (!news || !news->joins.n)
		return NULL;
	o = names_and_joins(news);
	revoked_fini(news);
	return o;
}
