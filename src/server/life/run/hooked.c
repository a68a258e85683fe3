/*
 * hooked.c - see hooked.h.
 */
#include "server/life/run/hooked.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/job.h"
#include "hooks/chain.h"
#include "rules/attr.h"
#include "server/base/log.h"
#include "server/base/post.h"
#include "server/base/words.h"
#include "server/book/books.h"
#include "server/book/ended.h"
#include "server/book/mail.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/hooks.h"

#define IN_A_TURN 100 /* maximum questions sent per turn */
/* waiting questions about starts and ends, at most; further ones are dropped and logged */
#define WAITING_MAX 10000

/* A question whose answer no client waits for. */
struct hearing {
	struct hook_ask *ask;
	uint32_t id;
	uint64_t key; /* key of the job, which may be forgotten in the meantime */
	char *text;
};

/* ---- answers ---- */

void hooked_mails(struct server *s, const struct hook_answer *a)
{
	const json_t *x;
	struct err err;
	size_t i;

	json_array_foreach(a->mails, i, x)
	{
		struct mail m = {.kind = MAIL_NOTICE,
				 .from = attrs_text(s->attrs, SET_MAIL_FROM),
				 .domain = attrs_text(s->attrs, SET_MAIL_DOMAIN),
				 .to = json_string_value(json_object_get(x, "to")),
				 .name = json_string_value(json_object_get(x, "subject")),
				 .id = "",
				 .text = json_string_value(json_object_get(x, "text"))};
		if (*s->conf->mail_program && mailer_send(s->books->mailer, s->conf->mail_program, &m, &err) < 0)
			server_log(s, SEVERITY_WARNING, "mail of a hook was not sent: %s", err.text);
	}
}

static void note(struct server *s, uint32_t id, const char *text)
{
	entry_event(s, id, EVENT_NOTE, &(struct payload){.text = text});
}

static void changes_note(struct server *s, uint32_t id, const json_t *changes)
{
	struct strbuf text = {0};
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)changes, key, value)
		strbuf_printf(&text, "%s%s", text.n ? ", " : "changed by hooks: ", key);
	if (text.n)
		note(s, id, text.text);
	strbuf_fini(&text);
}

void hooked_note(struct server *s, uint32_t id, const struct hook_answer *a)
{
	const json_t *x;
	struct err text;
	size_t i;

	changes_note(s, id, a->changes);
	json_array_foreach(a->log, i, x)
	{
		err_set(&text, 0, "hook %s: %s", json_string_value(json_object_get(x, "file")),
			json_string_value(json_object_get(x, "text")));
		note(s, id, text.text);
	}
	json_array_foreach(a->ran, i, x) if (json_is_string(json_object_get(x, "failed")))
	{
		err_set(&text, 0, "hook %s failed: %s", json_string_value(json_object_get(x, "file")),
			json_string_value(json_object_get(x, "failed")));
		note(s, id, text.text);
	}
	hooked_mails(s, a);
}

/* ---- questions ---- */

static void outcome_facts(const struct server *s, uint32_t id, json_t *o)
{
	const struct entry *e = entry_get(s, id);

	if (!e->outcome)
		return;
	if (e->outcome->exec_host)
		json_object_set_new(o, "exec_host", json_string(e->outcome->exec_host));
	if (!entry_ended(s, id))
		return;
	json_object_set_new(o, "exit_status", json_integer(e->exit_status));
	json_object_set_new(o, "seconds", json_integer(e->outcome->ran_ms / 1000));
	json_object_set_new(o, "cpu_seconds", json_integer(e->outcome->cpu_ms / 1000));
	json_object_set_new(o, "memory_kib", json_integer(e->outcome->memory_kib));
	if (e->outcome->comment)
		json_object_set_new(o, "reason", json_string(e->outcome->comment));
}

json_t *hook_facts(struct server *s, uint32_t id)
{
	const struct spec *p = entry_get(s, id)->spec;
	char group[64], state[2] = {entry_state(s, id), '\0'};
	struct strbuf name = {0};
	json_t *o;

	entry_id(s, id, &name);
	o = json_pack("{s:s, s:s, s:s, s:s}", "user", word_text(s, p->owner), "group",
		      group_name(s, p, group, sizeof group), "id", strbuf_text(&name), "state", state);
	outcome_facts(s, id, o);
	strbuf_fini(&name);
	return o;
}

void hook_later(struct server *s, uint32_t id, enum hook_event e)
{
	if (!hooks_want(s, e))
		return;
	if (s->post->hooks.n >= WAITING_MAX) {
		if (!s->post->hooks_dropped++)
			server_log(s, SEVERITY_WARNING,
				   "hook queue is full (%d events): dropping further start and end events",
				   WAITING_MAX);
		return;
	}
	vec_push(&s->post->hooks, (struct hook_later){id, (uint8_t)e});
}

static void on_heard(struct server *s, void *context)
{
	struct hearing *h = context;
	const struct entry *e = entry_get(s, h->id);

	s->post->hooks_asked--;
	for (size_t i = 0; i < h->ask->answers.n; i++) {
		if (e->spec && e->key == h->key)
			hooked_note(s, h->id, &h->ask->answers.v[i]);
		else
			hooked_mails(s, &h->ask->answers.v[i]);
	}
	hook_ask_free(h->ask);
	free(h->text);
	free(h);
}

static void hook_send(struct server *s, uint32_t id, enum hook_event e)
{
	struct strbuf text = {0};
	struct hearing *h;
	struct json j;

	if (!entry_get(s, id)->spec || !hooks_want(s, e))
		return;
	h = mem_zalloc(sizeof *h);
	json_begin(&j, &text);
	json_open_object(&j, "job");
	submission_brief(s, entry_get(s, id)->spec, &j);
	json_close_object(&j);
	json_close_object(&j);
	h->id = id;
	h->key = entry_get(s, id)->key;
	h->text = mem_strdup(text.text);
	strbuf_fini(&text);
	s->post->hooks_asked++;
	h->ask = hooks_ask(s, e, hook_facts(s, id), h->text, strlen(h->text), on_heard, h);
}

void hooks_send(struct server *s)
{
	size_t n = s->post->hooks.n < IN_A_TURN ? s->post->hooks.n : IN_A_TURN;

	if (!n || s->post->hooks_asked > IN_A_TURN) /* an answer wakes the turn */
		return;
	for (size_t i = 0; i < n; i++)
		hook_send(s, s->post->hooks.v[i].job, (enum hook_event)s->post->hooks.v[i].event);
	s->post->hooks.n -= n;
	memmove(s->post->hooks.v, s->post->hooks.v + n, s->post->hooks.n * sizeof *s->post->hooks.v);
	if (!s->post->hooks.n)
		s->post->hooks_dropped = 0;
}
