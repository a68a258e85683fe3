/*
 * submission.h - a job that is submitted: from what clients send to a spec.
 *
 * What the server keeps in memory of a job is the spec, stored as its `head`; environment, paths and arguments are the `body`, which only the
 * store has until the job starts.
 */
#ifndef SERVER_SUBMISSION_H
#define SERVER_SUBMISSION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/array.h"
#include "core/reqtext.h"

struct arena;
struct asker;
struct away;
struct err;
struct json;
struct server;
struct spec;

struct submission {
	struct spec *spec;
	char *body;		 /* JSON */
	bool guarantee;		 /* require_guarantee */
	int64_t displace;	 /* it may displace others if that takes at most so many seconds; < 0: not at all */
	bool element;		 /* it is an element of an array that is moved, */
	const struct away *away; /* ... or has been on its way to another site; borrowed */
	const char *warning;	 /* what its user is to know; NULL: nothing */
	struct array_spec array;
	struct reqtext text; /* what it asks for; the spec has the defaults, too */
	const char *script;  /* in the arena */
	size_t script_n;
};
/* Checks everything that does not depend on the state of the queue. */
int submission_read(struct server *s, const struct asker *who, const json_t *job, bool script_needed, struct arena *a,
		    struct submission *ret, struct err *err);
/* Reads what a job is altered to (alteration.c): a copy of its description with `args`, and its body if a member of that
 * was given, else NULL. Whether it may be so in its queue is for the caller to check. */
int alteration_read(struct server *s, const struct asker *who, uint32_t id, const json_t *args, struct arena *a,
		    struct submission *ret, struct err *err);
void submission_fini(struct submission *x);

/* submission_write.c: the job as it would be submitted now, without its script; `body`: the rest of it (body_read()). Without
 * the members that have a bit of `without`. The caller's. */
json_t *as_submission(struct server *s, uint32_t id, const json_t *body, uint32_t without);
/* Sets the members of a submission that have a bit of `in`. */
void submission_put(const struct server *s, const struct spec *p, uint32_t in, json_t *o);
void submission_put_kind(const struct spec *p, json_t *o); /* its type, deadline and powers */
const char *submission_type(const struct spec *p);	   /* C, Q, E or N */
/* What hooks see of a job without its body: members of an open object. */
void submission_brief(const struct server *s, const struct spec *p, struct json *j);

/* max_run_subjobs, if it is there: 0 is no limit. */
int throttle_get(const json_t *job, int64_t *ret, struct err *err);
const char *power_name(int i);		      /* NULL: there are no more */
const char *whole_name(enum wholeness whole); /* as the API calls it: none, node, host */

#endif
