/*
 * meta.c - see meta.h.
 */
#include "server/meta.h"

#include <stdio.h>
#include <string.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "run/live.h"
#include "server/base/instance.h"
#include "server/job/jobs.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/site/realm.h"
#include "store/store.h"

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

void meta_next_store(struct server *s)
{
	struct next x = {.number = s->jobs->next_number,
			 .seq = s->jobs->next_seq,
			 .script = s->jobs->next_script,
			 .join = s->hosts->next_join,
			 .token = s->realm->next_token,
			 .priorities = s->jobs->priorities};
	struct strbuf text = {0};
	struct json j;

	json_begin(&j, &text);
	record_store(next_rows, 0, &x, NULL, &j);
	json_close_object(&j);
	store_put_object(s->store, "meta", "next", text.text);
	strbuf_fini(&text);
}

void meta_boot_store(struct server *s)
{
	char text[96];

	snprintf(text, sizeof text, "{\"id\":\"%s\"}", live_boot());
	store_put_object(s->store, "meta", "boot", text);
}

int meta_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	struct next x;
	int rc;

	if (strcmp(name, "boot") == 0) {
		const char *id = json_string_value(json_object_get(o, "id"));
		s->instance->rebooted = id && strcmp(id, live_boot()) != 0;
		return 0;
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
