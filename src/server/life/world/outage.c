/*
 * outage.c - see outage.h.
 */
#include "server/life/world/outage.h"

#include <errno.h>
#include <string.h>

#include "base/codec.h"
#include "base/members.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "core/job.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/turn.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/run/kill.h"
#include "server/life/world/world.h"
#include "server/server.h"
#include "store/store.h"

static const char *const kinds[OUTAGE_KINDS] = {"cancel", "quick", "delay", "immediate", "kill"};
static const char *const words[OUTAGE_KINDS] = {"", "continue", "make checkpoints and stop", "are stopped",
						"are deleted"};

bool outage_kind_parse(const char *word, enum outage_kind *ret)
{
	for (int i = 0; i < OUTAGE_KINDS; i++)
		if (strcmp(kinds[i], word) == 0) {
			*ret = (enum outage_kind)i;
			return true;
		}
	return false;
}

/* Argument of the getters: a shutdown. */
struct subject {
	struct outage outage;
};

static void get_kind(const struct subject *x, struct value *v)
{
	v->kind = VALUE_TEXT;
	v->text = kinds[x->outage.kind];
}

const struct schema outage_schema = {
	FIELDS({"kind", .is = REQUIRED | IS_TEXT, .words = "quick|delay|immediate|kill", .get = get_kind},
	       {"begin", .is = REQUIRED | IS_INSTANT, MEMBER(struct outage, begin)},
	       {"until", .is = REQUIRED | IS_INSTANT | IS_NULL, "when the machine is expected to be back",
		.missing = TIME_NEVER, MEMBER(struct outage, until)},
	       {"who", .is = REQUIRED | IS_TEXT, MEMBER_CHARS(struct outage, who)})};

static void outage_store(struct server *s)
{
	struct strbuf text = {0};

	if (s->world->outage.kind == OUTAGE_NONE) {
		store_drop_object(s->store, "outage", "outage");
		return;
	}
	record_show_text(outage_schema.fields, 0, world_expects(s), NULL, &text);
	store_put_object(s->store, "outage", "outage", text.text);
	strbuf_fini(&text);
}

static void jobs_stop(struct server *s, const struct outage *x)
{
	if (x->kind == OUTAGE_LEAVE)
		return;
	JOBS_EACH(s, id) {
		if (!entry_get(s, id)->spec || !entry_running(s, id))
			continue;
		if (x->kind == OUTAGE_END)
			job_kill(s, id, &(struct payload){.intent = INTENT_DELETE, .delay = -1, .who = x->who});
		else
			job_put_back(s, id, x->kind == OUTAGE_SAVE, x->who);
	}
}

static void outage_begin(struct server *s)
{
	struct outage *x = &s->world->outage;

	server_log(s, SEVERITY_NOTICE, "shutdown asked for by %s begins; running jobs %s", x->who, words[x->kind]);
	x->begun = true;
	world_outage(s);
	jobs_stop(s, x);
	s->turn->dismissed = true;
	s->turn->emptying = x->kind != OUTAGE_LEAVE;
	s->turn->terminating = x->kind == OUTAGE_LEAVE;
}

void outage_set(struct server *s, const struct outage *x)
{
	char when[40];

	if (x->kind && x->begin <= s->clock->now) {
		s->world->announced = s->world->outage; /* it is in the store, and stays there */
		s->world->outage = *x;
		outage_begin(s);
		return;
	}
	s->world->outage = *x;
	if (x->kind)
		server_log(s, SEVERITY_NOTICE, "%s announced a shutdown for %s", x->who,
			   instant_format(x->begin, when, sizeof when));
	else
		server_log(s, SEVERITY_NOTICE, "%s cancelled the shutdown", x->who);
	outage_store(s);
	world_outage(s);
}

int64_t outage_next(const struct server *s)
{
	const struct outage *x = &s->world->outage;

	return x->kind && !x->begun ? x->begin : TIME_NEVER;
}

void outage_turn(struct server *s)
{
	if (outage_next(s) <= s->clock->now && !s->turn->merging && !s->turn->trouble)
		outage_begin(s);
}

/* Restores an announced shutdown, unless its time has passed: then the machine is back. */
int outage_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	struct outage x = {0};
	enum outage_kind k;
	int rc = record_load(outage_schema.fields, 0, o, &x, NULL, err);

	if (rc == 0 && !outage_kind_parse(member_text(o, "kind"), &k))
		rc = err_set(err, -EINVAL, "a shutdown of a kind that is not known");
	if (rc < 0)
		return rc;
	x.kind = (uint8_t)k;
	if (x.begin > s->clock->now)
		s->world->outage = x;
	else
		store_drop_object(s->store, "outage", "outage");
	return 0;
}
