/*
 * chain.h - a site's hooks, one after the other: each sees what those before it have made of the job. The first that refuses decides.
 */
#ifndef HOOKS_CHAIN_H
#define HOOKS_CHAIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "hooks/hook.h"

/* A file, with the events that it has functions for. */
struct hook_file {
	struct hook_source source;
	unsigned events;
	char *broken; /* why it can't be used: it fails, whatever the event is; NULL: it can */
};

typedef VEC(struct hook_file) hook_files;

/* What became of a job: of one file's call, or of all of them. */
struct hook_answer {
	enum hook_result result;
	char *message;	 /* a sentence for the user that names the file; NULL: accepted */
	json_t *changes; /* as in a verdict; NULL: none */
	json_t *log;	 /* array of {"file", "text"}; NULL: none */
	json_t *mails;	 /* array of {"to", "subject", "text"}; NULL: none */
	json_t *ran;	 /* array of {"file", "us", "failed"}, the last being a text or null; NULL: none ran */
};

struct hook_chain {
	const struct hook_file *file;
	size_t n;
	struct hook_limits limits;
	bool failure_refuses; /* of submit and modify: a hook that fails refuses; else it is left out */
	void (*begins)(void *context, size_t file); /* its time begins; NULL: nobody needs to know */
	int64_t (*clock_us)(void *context);	    /* NULL: the time is not measured */
	void *context;
};

void hook_chain_call(const struct hook_chain *c, const struct hook_subject *subject, struct hook_answer *ret);

/* What is asked about: `job` and `asked` come from the body, which is as in worker.h. */
struct hook_inquiry {
	enum hook_event event;
	const json_t *facts, *site;
	const json_t *body;
	bool (*tell)(void *context,
		     struct hook_answer *a); /* gets each answer, and owns it; false: no more is wanted */
	void *context;
};

/* Calls the hooks with each job of a body, up to the first that is not accepted; how many there were. */
size_t hook_chain_body(const struct hook_chain *c, const struct hook_inquiry *q);

void hook_answer_fini(struct hook_answer *a);
void hook_answer_write(const struct hook_answer *a, struct strbuf *out); /* as JSON */
/* From JSON that another process wrote: everything is checked. -EINVAL leaves *ret empty. */
int hook_answer_read(const json_t *o, struct hook_answer *ret, struct err *err);

#endif
