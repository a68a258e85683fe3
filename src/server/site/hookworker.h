/*
 * hookworker.h - the processes that run hooks, and the questions that wait for them.
 *
 * There are a few processes; each is started when needed, and handles one question at a time. A
 * process that is silent for too long is killed.
 */
#ifndef SERVER_SITE_HOOKWORKER_H
#define SERVER_SITE_HOOKWORKER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/strbuf.h"
#include "base/vec.h"

struct hook_answer;
struct hook_ask;
struct hook_worker;
struct server;

#define HOOK_WORKERS 2

struct hook_terms {
	int64_t time_ms, memory_kib;
	bool refuses; /* a failing hook refuses */
};

/* Callbacks to the owner of the crew. */
struct hook_crew_calls {
	bool (*may_begin)(void *context); /* false: only checks of files are sent */
	struct hook_terms (*terms)(void *context);
	json_t *(*site)(void *context);
	void (*answered)(void *context, struct hook_ask *a, const struct hook_answer *x);
	void *context;
};

/* Owned by struct hooks. */
struct hook_crew {
	struct server *s;
	struct hook_crew_calls calls;
	struct hook_worker *worker[HOOK_WORKERS]; /* NULL: not running */
	VEC(struct hook_ask *) waiting;
	/* head and data of the request with the files in force; empty: none */
	struct strbuf files, texts;
	uint64_t version; /* version of both */
	bool stopped;
	uv_timer_t again;
};

void hook_crew_begin(struct hook_crew *c, struct server *s, const struct hook_crew_calls *calls);
void hook_crew_end(struct hook_crew *c); /* kills the processes; no question is answered any more */
/* Sets the hooks for the next questions: a request. Takes over both arguments. */
void hook_crew_files(struct hook_crew *c, struct strbuf *head, struct strbuf *texts);
void hook_crew_add(struct hook_crew *c, struct hook_ask *a);
/* Cancels a question. */
void hook_crew_drop(struct hook_crew *c, struct hook_ask *a);
/* Sends waiting questions after may_begin() may have changed. */
void hook_crew_go(struct hook_crew *c);
/* Checks a file; the answer is `events` or `error`. The texts are borrowed. */
struct hook_ask *hook_crew_check(struct hook_crew *c, const char *name, const char *text, size_t n,
				 void (*done)(struct server *s, void *context), void *context);

#endif
