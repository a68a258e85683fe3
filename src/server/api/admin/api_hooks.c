/*
 * api_hooks.c - the site's hooks: lists those in force, and tries out others on a job.
 */
#include <jansson.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/jsonwrite.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "hooks/chain.h"
#include "hooks/hook.h"
#include "net/http.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/server.h"
#include "server/site/hooks.h"

/* ---- hooks in force ---- */

struct subject {
	struct hook_shown hook;
};

static void get_state(const struct subject *x, struct value *v)
{
	const struct hook_shown *h = &x->hook;

	v->kind = VALUE_TEXT;
	v->text = h->in_force ? h->problem ? "old" : "in_force" : h->fails ? "broken" : "unused";
}

static void events_show(const struct subject *x, struct json *j)
{
	for (int i = 0; i < HOOK_EVENTS; i++)
		if (x->hook.events & 1u << i)
			json_text(j, NULL, hook_event_name((enum hook_event)i));
}

#define HAS(member) MEMBER(struct subject, hook.member)

static const struct schema hook = {FIELDS(
	{"name", .is = REQUIRED | IS_TEXT, "of its file", HAS(name)},
	{"state", .is = REQUIRED | IS_TEXT,
	 "in_force; old: the version on disk is broken, and the one before it is in force; broken: it fails each time; unused: it is broken, and was never in force",
	 .words = "in_force|old|broken|unused", .get = get_state},
	{"problem", .is = REQUIRED | IS_TEXT | IS_NULL, "of the version on disk", HAS(problem)},
	{"events", .is = REQUIRED | IS_LIST, "that the version in force has functions for", .item = IS_TEXT,
	 .words = "submit|modify|start|end|priority", .inside = events_show},
	{"calls", .is = REQUIRED | IS_INT, "since the server was started, or the file came", HAS(calls)},
	{"failures", .is = REQUIRED | IS_INT, HAS(failures)},
	{"last_failure", .is = REQUIRED | IS_TEXT | IS_NULL, HAS(failure)},
	{"microseconds", .is = REQUIRED | IS_INT, "on the processor, of all calls", HAS(us)},
	{"longest", .is = REQUIRED | IS_INT, "of one of them", HAS(us_max)})};

struct hooks_shown {
	const struct server *s;
	const char *directory, *problem;
};

static void hooks_inside(const struct subject *x, struct json *j)
{
	const struct server *s = ((const struct hooks_shown *)(const void *)x)->s;
	struct hook_shown h;

	for (size_t i = 0; i < hooks_count(s); i++) {
		hooks_show(s, i, &h);
		schema_show(&hook, NULL, &h, NULL, j);
	}
}

const struct schema hooks_answer = {
	FIELDS({"directory", .is = REQUIRED | IS_TEXT, MEMBER(struct hooks_shown, directory)},
	       {"problem", .is = REQUIRED | IS_TEXT | IS_NULL, "why the directory is not read now",
		MEMBER(struct hooks_shown, problem)},
	       {"hooks", .is = REQUIRED | IS_LIST, "in the order in which they are called", .of = &hook,
		.item = IS_OBJECT, .inside = hooks_inside})};

void api_hooks(struct server *s, const struct call *c)
{
	api_show(s, c->r, &hooks_answer, &(struct hooks_shown){s, hooks_directory(s), hooks_trouble(s)});
}

/* ---- trying a hook ---- */

struct
try {
	const char *name, *source, *event;
	json_t *job, *changes, *facts;
};
#define GIVEN(member) MEMBER(struct try, member)
const struct schema trial_body = {
	FIELDS({"name", .is = REQUIRED | IS_TEXT, "of the file, for messages", .least = 1, .most = 100, GIVEN(name)},
	       {"source", .is = REQUIRED | IS_TEXT, "its text", .least = 0, .most = HOOK_SOURCE_MAX, GIVEN(source)},
	       {"event", .is = IS_TEXT | IS_NULL, "the function to call; without it the file is only checked",
		.words = "submit|modify|start|end", GIVEN(event)},
	       {"job", .is = IS_OBJECT | IS_NULL, "what is submitted, or the job as it is", GIVEN(job)},
	       {"changes", .is = IS_OBJECT | IS_NULL, "of `modify`: what is to change", GIVEN(changes)},
	       {"facts", .is = IS_OBJECT | IS_NULL, "further facts about the job: `user`, `group`, `exit_status`, ...",
		GIVEN(facts)})};
#undef GIVEN

static const struct schema mail = {FIELDS({"to", .is = REQUIRED | IS_TEXT}, {"subject", .is = REQUIRED | IS_TEXT},
					  {"text", .is = REQUIRED | IS_TEXT})};
const struct schema tried_answer = {FIELDS(
	{"problem", .is = REQUIRED | IS_TEXT | IS_NULL, "why the file is broken"},
	{"events", .is = REQUIRED | IS_LIST, "that it has functions for", .item = IS_TEXT},
	{"result", .is = REQUIRED | IS_TEXT | IS_NULL, "of the call, if there was one",
	 .words = "accepted|refused|failed"},
	{"message", .is = REQUIRED | IS_TEXT | IS_NULL, "why it was refused, or has failed"},
	{"changes", .is = REQUIRED | IS_OBJECT | IS_NULL, "members with their new values; `resources` are added"},
	{"log", .is = REQUIRED | IS_LIST, .item = IS_TEXT},
	{"mails", .is = REQUIRED | IS_LIST, "that would be sent", .of = &mail, .item = IS_OBJECT},
	{"microseconds", .is = REQUIRED | IS_INT, "on the processor"})};

struct trial {
	struct http_request *r;
	struct hook_ask *ask;
	struct strbuf data;
};

static json_t *texts_of(const json_t *list, const char *name)
{
	json_t *texts = json_array();
	const json_t *x;
	size_t i;

	json_array_foreach(list, i, x) json_array_append(texts, json_object_get(x, name));
	return texts;
}

static json_t *or_null(json_t *x)
{
	return x ? json_incref(x) : json_null();
}

/* Writes the result of a trial. If the file failed, the result is its failure, whatever
 * hook_failure is set to. */
static json_t *tried_json(const struct hook_ask *a)
{
	static const char *const results[] = {"accepted", "refused", "failed"};
	const struct hook_answer *x = a->answers.n ? a->answers.v : NULL;
	const json_t *ran = x ? json_array_get(x->ran, 0) : NULL;
	const char *failed = json_string_value(json_object_get(ran, "failed")), *message = x ? x->message : NULL;
	json_t *events = json_array();

	for (int i = 0; i < HOOK_EVENTS; i++)
		if (a->events & 1u << i)
			json_array_append_new(events, json_string(hook_event_name((enum hook_event)i)));
	return json_pack("{s:s?, s:o, s:s?, s:s?, s:o, s:o, s:o, s:I}", "problem", a->error, "events", events, "result",
			 x ? results[failed ? HOOK_FAILED : x->result] : NULL, "message", failed ? failed : message,
			 "changes", or_null(x ? x->changes : NULL), "log", texts_of(x ? x->log : NULL, "text"), "mails",
			 x && x->mails ? json_incref(x->mails) : json_array(), "microseconds",
			 (json_int_t)json_integer_value(json_object_get(ran, "us")));
}

static void on_tried(struct server *s, void *context)
{
	struct trial *t = context;

	api_answer(t->r, 200, tried_json(t->ask));
	hook_ask_free(t->ask);
	strbuf_fini(&t->data);
	free(t);
}

static json_t *or_empty(json_t *x)
{
	return x ? json_incref(x) : json_object();
}

static void job_add(struct strbuf *out, enum hook_event e, const struct try *x)
{
	json_t *job = or_empty(x->job), *o = job;

	if (e != HOOK_SUBMIT)
		o = json_pack("{s:o, s:o}", "job", job, "asked", or_empty(x->changes));
	json_write(o, out);
	json_decref(o);
}

void api_hooks_try(struct server *s, const struct call *c)
{
	struct trial *t;
	struct try x;

	call_read(c, &x);
	int e = x.event ? hook_event_find(x.event) : HOOK_SUBMIT;
	if (e < 0 || e == HOOK_PRIORITY || !s->hooks) {
		http_error(c->r, CODE_BAD_REQUEST, "event must be one of submit, modify, start, end");
		return;
	}
	t = mem_zalloc(sizeof *t);
	t->r = c->r;
	strbuf_puts(&t->data, x.source);
	if (x.event)
		job_add(&t->data, (enum hook_event)e, &x);
	t->ask = hooks_try(s, (enum hook_event)e, or_empty(x.facts), x.name, strbuf_text(&t->data), t->data.n,
			   strlen(x.source), on_tried, t);
}
