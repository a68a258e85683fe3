/*
 * revoke.c - nodes whose certificates no longer count: they were removed, or have joined again as
 * another machine.
 *
 * This server checks nodes against its own records. Other nodes have only certificates and tickets,
 * so they need the list: it is in the store, each agent gets all of it when it connects, and
 * additions as soon as they are committed. An entry is removed when the last certificate of its
 * node has expired, with a margin for hosts whose clock is behind.
 */
#include <jansson.h>
#include <stdint.h>

#include "base/codec.h"
#include "base/mem.h"
#include "base/names.h"
#include "engine/engine.h"
#include "engine/errands.h"
#include "engine/files.h"
#include "engine/tasks.h"
#include "net/listener.h"
#include "server/base/clock.h"
#include "server/server.h"
#include "server/settings/objects.h"
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

/* A revoked node in the store. */
struct revocation {
	uint64_t join;
	int64_t until; /* the entry is kept until then */
};

static const struct field revocation_rows[] = {
	{"join", .in = ALWAYS, .least = 1, .most = INT64_MAX, MEMBER(struct revocation, join)},
	{"until", MEMBER(struct revocation, until)},
	{0},
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
	struct revocation kept = {join, (valid_until ? valid_until : s->clock->now + LONGEST) + MARGIN};

	if (!join || !revoked_add(&all->list, name, join))
		return;
	revoked_add(&all->news, name, join);
	record_put(s, "revoked", name, revocation_rows, 0, &kept);
	if (s->realm->listener)
		listener_revoke(s->realm->listener, &all->list);
	if (s->realm->tasks)
		tasks_revoke(s->realm->tasks, &all->list);
	if (engine_errands(s->engine))
		files_revoke(errands_files(engine_errands(s->engine)));
}

int revoke_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	struct revocation kept;
	int rc = record_load(revocation_rows, 0, o, &kept, NULL, err);

	if (rc == 0 && kept.until < s->clock->now)
		store_drop_object(s->store, "revoked", name);
	else if (rc == 0)
		revoked_add(&revocations_of(s)->list, name, kept.join);
	return rc;
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
