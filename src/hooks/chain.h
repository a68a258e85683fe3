/*
 * chain.h - calls a site's hooks one after the other: each sees the job as changed by those before
 * it. The first that refuses decides.
 */
#ifndef HOOKS_CHAIN_H
#define HOOKS_CHAIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "hooks/hook.h"

/* A file and the events that it has functions for. */
struct hook_file {
	struct hook_source source;
	unsigned events;
	char *broken; /* why it cannot be used: every event fails with this; NULL: it can be used */
};

/* The outcome for a job: of one file's call, or of all of them. */
struct hook_answer {
	enum hook_result result;
	char *message;	 /* sentence for the user, naming the file; NULL: accepted */
	json_t *changes; /* see struct hook_verdict; NULL: none */
	json_t *log;	 /* array of {"file", "text"}; NULL: none */
	json_t *mails;	 /* array of {"to", "subject", "text"}; NULL: none */
	/* array of {"file", "us", "failed"}, where "failed" is a text or null; NULL: none ran */
	json_t *ran;
};

struct hook_chain {
	const struct hook_file *file;
	size_t n;
	struct hook_limits limits;
	/* for submit and modify: a hook that fails refuses the job; otherwise it is skipped */
	bool failure_refuses;
	/* called when a file's time begins; may be NULL */
	void (*begins)(void *context, size_t file);
	int64_t (*clock_us)(void *context); /* NULL: the time is not measured */
	void *context;
};

void hook_chain_call(const struct hook_chain *c, const struct hook_subject *subject, struct hook_answer *ret);

/* An event to call the hooks for: `job` and `asked` come from the body, which is as in worker.h. */
struct hook_inquiry {
	enum hook_event event;
	const json_t *facts, *site;
	const json_t *body;
	/* gets each answer and owns it; returns false to stop */
	bool (*tell)(void *context, struct hook_answer *a);
	void *context;
};

/* Calls the hooks for each job of a body, up to the first that is not accepted. Returns the
 * number of jobs. */
size_t hook_chain_body(const struct hook_chain *c, const struct hook_inquiry *q);

void hook_answer_fini(struct hook_answer *a);
void hook_answer_write(const struct hook_answer *a, struct strbuf *out); /* writes JSON */
/* Parses JSON written by another process and checks everything. -EINVAL leaves *ret empty. */
int hook_answer_read(const json_t *o, struct hook_answer *ret, struct err *err);

#endif
