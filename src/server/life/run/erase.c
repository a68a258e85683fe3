/*
 * erase.c - see erase.h.
 */
#include "server/life/run/erase.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/codec.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "server/base/log.h"
#include "server/base/post.h"
#include "server/base/turn.h"
#include "server/base/words.h"
#include "server/job/attempt.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/run/save.h"
#include "server/server.h"
#include "server/settings/objects.h"
#include "store/store.h"

#define AT_ONCE 8 /* erasures at once, at most: each is a process */

static const struct field erase_rows[] = {
	{"path", .in = ALWAYS, MEMBER(struct erase_later, path)},
	{"user", .in = ALWAYS, MEMBER(struct erase_later, user)},
	{"uid", MEMBER(struct erase_later, uid)},
	{"gid", MEMBER(struct erase_later, gid)},
	{0},
};

static void erase_free(struct erase_later *x)
{
	free(x->name);
	free(x->path);
	free(x->user);
}

void erase_add(struct server *s, uint32_t id)
{
	const struct entry *e = entry_get(s, id);
	struct arena *a = arena_create();
	const char *path = e->ran ? save_directory(s, id, a) : NULL;
	char tag[64];

	if (path) {
		attempt_tag(s, id, 0, tag);
		*strrchr(tag, '.') = '\0';
		struct erase_later x = {mem_strdup(tag), mem_strdup(path), mem_strdup(word_text(s, e->spec->owner)),
					e->spec->uid, e->spec->gid};
		record_put(s, "erase", tag, erase_rows, 0, &x);
		vec_push(&s->post->erases, x);
	}
	arena_destroy(a);
}

int erase_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	struct erase_later x = {.name = mem_strdup(name)};
	int rc = record_load(erase_rows, 0, o, &x, NULL, err);

	if (rc == 0)
		vec_push(&s->post->erases, x);
	else
		erase_free(&x);
	return rc;
}

void erase_send(struct server *s)
{
	while (s->post->erases.n && s->post->erasing < AT_ONCE) {
		struct erase_later x = s->post->erases.v[--s->post->erases.n];
		s->post->erasing++;
		engine_erase(s->engine, x.name, &(struct nursery_user){x.uid, x.gid, x.user}, x.path);
		erase_free(&x);
	}
}

void erase_done(struct server *s, const char *name, const char *reason)
{
	s->post->erasing--;
	if (reason)
		server_log(s, SEVERITY_WARNING,
			   "the checkpoints of job %s can't be deleted: %s; trying again at the next start", name,
			   reason);
	else
		store_drop_object(s->store, "erase", name);
	turn_wake(s);
}
