/*
 * lua.c - see lua.h. It stands in for server/site/hooks.c.
 */
#include "support/lua.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "hooks/chain.h"
#include "rules/attr.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/server.h"
#include "server/site/hooks.h"
#include "support/bare.h"

#define MEMORY ((size_t)8 << 20)

static struct hook_file file;
static VEC(struct hook_ask *) asked;
static unsigned called[HOOK_EVENTS];

static void answer_all(struct server *s)
{
	lua_answer(s, SIZE_MAX);
}

void lua_set(const char *text)
{
	const struct hook_limits limits = {.memory = MEMORY};
	struct err err;

	file = (struct hook_file){.source = {"test.lua", text, text ? strlen(text) : 0}};
	bare_between = answer_all;
	if (text && hook_check(&file.source, &limits, &file.events, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
}

/* What servers that were dropped had asked: that is not a leak. */
static VEC(struct hook_ask *) dropped;

void lua_forget(void)
{
	for (size_t i = 0; i < asked.n; i++)
		vec_push(&dropped, asked.v[i]);
	vec_clear(&asked);
}

unsigned lua_called(int event)
{
	return called[event];
}

bool hooks_want(const struct server *s, enum hook_event e)
{
	return file.events & 1u << e;
}

struct hook_ask *hooks_ask(struct server *s, enum hook_event e, json_t *facts, const char *data, size_t n,
			   void (*done)(struct server *s, void *context), void *context)
{
	struct hook_ask *a = mem_zalloc(sizeof *a);

	*a = (struct hook_ask){
		.event = e, .facts = facts, .data = data, .n = n, .done = done, .context = context, .server = s};
	vec_push(&asked, a);
	return a;
}

void hook_ask_free(struct hook_ask *a)
{
	if (!a)
		return;
	for (size_t i = asked.n; i-- > 0;)
		if (asked.v[i] == a)
			vec_remove(&asked, i);
	for (size_t i = 0; i < a->answers.n; i++)
		hook_answer_fini(&a->answers.v[i]);
	vec_free(&a->answers);
	json_decref(a->facts);
	free(a);
}

static bool answer_keep(void *context, struct hook_answer *x)
{
	struct hook_ask *a = context;

	vec_push(&a->answers, *x);
	return true;
}

static void answer(struct server *s, struct hook_ask *a)
{
	struct hook_chain c = {.file = &file,
			       .n = file.source.text != NULL,
			       .limits = {.memory = MEMORY},
			       .failure_refuses = strcmp(attrs_text(s->attrs, SET_HOOK_FAILURE), "refuse") == 0};
	json_t *body = json_loadb(a->data, a->n, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL),
	       *site = json_pack("{s:I}", "now", (json_int_t)s->clock->now);

	hook_chain_body(&c, &(struct hook_inquiry){a->event, a->facts, site, body, answer_keep, a});
	called[a->event]++;
	json_decref(body);
	json_decref(site);
	turn_wake(s);
	a->over = true;
	if (a->done)
		a->done(s, a->context);
}

void lua_answer(struct server *s, size_t most)
{
	while (asked.n && most--) {
		struct hook_ask *a = asked.v[0];
		assert(a->server == s);
		vec_remove(&asked, 0);
		answer(s, a);
	}
}
