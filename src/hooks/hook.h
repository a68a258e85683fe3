/*
 * hook.h - a site's hook: a Lua file whose functions see a job and decide.
 *
 *	function on_submit(job)
 *	  if job.queue == "long" and job.user == "guest" then refuse("guests can't use the queue long") end
 *	  job.account = job.account or "default"
 *	end
 *
 * Every call has a Lua state of its own, which is bounded in memory, instructions and time, and knows no files, programs, modules or bytecode. So a call
 * depends on its arguments alone, and leaves nothing behind. What no state can bound, a single call of a C function that does not return (string.find with a
 * pattern that backtracks), is bounded by the process around it: worker.h.
 *
 * Pure but for the clock of the caller: hook_limits.late.
 */
#ifndef HOOKS_HOOK_H
#define HOOKS_HOOK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct strbuf;

#define HOOK_SOURCE_MAX (256 << 10) /* bytes of a file */

enum hook_event { HOOK_SUBMIT, HOOK_MODIFY, HOOK_START, HOOK_END, HOOK_PRIORITY, HOOK_EVENTS };
const char *hook_event_name(enum hook_event e); /* submit, modify, start, end, priority */
int hook_event_find(const char *name);		/* < 0: there is none */

struct hook_limits {
	size_t memory;		     /* bytes of a Lua state */
	bool (*late)(void *context); /* whether its time is over; NULL: only its instructions are counted */
	void *context;
};

/* A file. Both texts are the caller's. */
struct hook_source {
	const char *name; /* 10-account.lua */
	const char *text;
	size_t n;
};

/* Whether it can be compiled, and its top level runs. *ret_events: a bit for each event that it has a function for; none is an error. */
int hook_check(const struct hook_source *x, const struct hook_limits *limits, unsigned *ret_events, struct err *err);

enum hook_result { HOOK_ACCEPTED, HOOK_REFUSED, HOOK_FAILED };

/* What a call said. {0} is an empty one. */
struct hook_verdict {
	enum hook_result result;
	char *message;	 /* why it refused or failed; else NULL */
	json_t *changes; /* object: members of the API's submission or alteration, with their new values; NULL: none */
	json_t *log;	 /* array of texts; NULL: none */
	json_t *mails;	 /* array of {"to", "subject", "text"}; NULL: none */
};

void hook_verdict_fini(struct hook_verdict *v);

/* What a function is called with. All of it is the caller's. */
struct hook_subject {
	enum hook_event event;
	const json_t *job;   /* what is submitted, or the job as it is */
	const json_t *asked; /* of HOOK_MODIFY: what is to change; else NULL */
	const json_t *facts; /* members that the job has besides, read-only: user, group, id, ... */
	const json_t *site;  /* the global `site`; NULL: it is empty */
};

/* Calls the file's function for the event. One that fails has changed nothing and said nothing, but for its message. */
void hook_call(const struct hook_source *x, const struct hook_limits *limits, const struct hook_subject *subject,
	       struct hook_verdict *ret);

/* Calls priority_factor() with each job of an array, in one Lua state, and adds what it returns to `values`. `begins` is called before each. The first error ends
 * it, and what was not reached becomes NAN. */
int hook_priorities(const struct hook_source *x, const struct hook_limits *limits, const json_t *jobs,
		    const json_t *site, void (*begins)(void *context), double *values, struct err *err);

/* Writes which members a hook may change, joined by ", ". */
void hook_changeable(enum hook_event e, struct strbuf *out);

/* Puts changes into what was sent: `resources` are added to those that are there, where the last one counts. */
void hook_changes_apply(json_t *job, const json_t *changes);

#endif
