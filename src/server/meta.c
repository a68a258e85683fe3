/*
 * meta.c - see meta.h.
 */
#include "server/meta.h"

#include <string.h>

#include "base/codec.h"
#include "run/live.h"
#include "server/base/instance.h"
#include "server/job/jobs.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/settings/objects.h"
#include "server/site/realm.h"

struct next {
	uint64_t number, seq, script, join, token;
	bool priorities; /* some job has a priority */
};

static const struct field next_rows[] = {
	{"number", .is = IS_INT, MEMBER(struct next, number)},
	{"seq", .is = IS_INT, MEMBER(struct next, seq)},
	{"script", .is = IS_INT, MEMBER(struct next, script)},
	{"join", .is = IS_INT, MEMBER(struct next, join)},
	{"token", .is = IS_INT, MEMBER(struct next, token)},
	{"priorities", .is = IS_BOOL, MEMBER(struct next, priorities)},
	{0},
};

/* The boot of the machine in which the server last ran. */
struct boot {
	const char *id;
};
static const struct field boot_rows[] = {{"id", .is = IS_TEXT, MEMBER(struct boot, id)}, {0}};

void meta_next_store(struct server *s)
{
	struct next x = {.number = s->jobs->next_number,
			 .seq = s->jobs->next_seq,
			 .script = s->jobs->next_script,
			 .join = s->hosts->next_join,
			 .token = s->realm->next_token,
			 .priorities = s->jobs->priorities};

	record_put(s, "meta", "next", next_rows, 0, &x);
}

void meta_boot_store(struct server *s)
{
	record_put(s, "meta", "boot", boot_rows, 0, &(struct boot){live_boot()});
}

int meta_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	struct next x;
	int rc;

	if (strcmp(name, "boot") == 0) {
		struct boot last;
		rc = record_load(boot_rows, 0, o, &last, NULL, err);
		s->instance->rebooted = rc == 0 && last.id && strcmp(last.id, live_boot()) != 0;
		return rc;
	}
	rc = record_load(next_rows, 0, o, &x, NULL, err);
	if (rc < 0)
		return rc;
	s->jobs->next_number = x.number;
	s->jobs->next_seq = x.seq;
	s->jobs->next_script = x.script;
	s->hosts->next_join = x.join;
	s->realm->next_token = x.token;
	s->jobs->priorities |= x.priorities;
	return 0;
}
