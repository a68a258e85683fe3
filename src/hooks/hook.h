/*
 * hook.h - a site's hook: a Lua file whose functions see a job and decide.
 *
 *	function on_submit(job)
 *	  if job.queue == "long" and job.user == "guest" then
 *	    refuse("guests can't use the queue long")
 *	  end
 *	  job.account = job.account or "default"
 *	end
 *
 * Every call has a Lua state of its own, which is bounded in memory, instructions and time, and has
 * no access to files, programs, modules or bytecode. So a call depends only on its arguments, and
 * leaves nothing behind. A state cannot bound a single call of a C function that does not return
 * (string.find with a pattern that backtracks); the process around it does: worker.h.
 *
 * Pure except for the caller's clock: hook_limits.late.
 */
#ifndef HOOKS_HOOK_H
#define HOOKS_HOOK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define HOOK_SOURCE_MAX (256 << 10) /* bytes of a file */

enum hook_event { HOOK_SUBMIT, HOOK_MODIFY, HOOK_START, HOOK_END, HOOK_PRIORITY, HOOK_EVENTS };
const char *hook_event_name(enum hook_event e); /* submit, modify, start, end, priority */
int hook_event_find(const char *name);		/* < 0: no such event */

struct hook_limits {
	size_t memory; /* bytes of a Lua state */
	/* Returns true if its time is over; NULL: only instructions are counted. */
	bool (*late)(void *context);
	void *context;
};

/* A file. The caller owns both strings. */
struct hook_source {
	const char *name; /* such as 10-account.lua */
	const char *text;
	size_t n;
};

/* Checks that the file compiles and its top level runs. Sets *ret_events to a bit for each event
 * it has a function for; having none is an error. */
int hook_check(const struct hook_source *x, const struct hook_limits *limits, unsigned *ret_events, struct err *err);

enum hook_result { HOOK_ACCEPTED, HOOK_REFUSED, HOOK_FAILED };

/* Result of a call; {0} is empty. */
struct hook_verdict {
	enum hook_result result;
	char *message;	 /* why it refused or failed; otherwise NULL */
	json_t *changes; /* object: members of the API's submission or alteration, with their new values; NULL: none */
	json_t *log;	 /* array of texts; NULL: none */
	json_t *mails;	 /* array of {"to", "subject", "text"}; NULL: none */
};

void hook_verdict_fini(struct hook_verdict *v);

/* Arguments of a call, owned by the caller. */
struct hook_subject {
	enum hook_event event;
	const json_t *job;   /* the submission, or the job as it is */
	const json_t *asked; /* changes requested, for HOOK_MODIFY; otherwise NULL */
	const json_t *facts; /* further members of the job, read-only: user, group, id, ... */
	const json_t *site;  /* the global `site`; NULL: empty */
};

/* Calls the file's function for the event. A call that fails changes nothing and yields only its
 * message. */
void hook_call(const struct hook_source *x, const struct hook_limits *limits, const struct hook_subject *subject,
	       struct hook_verdict *ret);

/* Calls priority_factor() with each job of an array, in one Lua state, and adds the results to
 * `values`. `begins` is called before each. The first error ends it, and the remaining values
 * become NAN. */
int hook_priorities(const struct hook_source *x, const struct hook_limits *limits, const json_t *jobs,
		    const json_t *site, void (*begins)(void *context), double *values, struct err *err);

/* Applies changes to a submission: `resources` are appended to the existing ones, of which the
 * last counts. */
void hook_changes_apply(json_t *job, const json_t *changes);

#endif
