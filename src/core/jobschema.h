/*
 * jobschema.h - every member of a job: one row each, for the store, submissions, alterations, hooks, other sites, the
 * API's answers and description, and the history.
 *
 * A row says in `in` where the member is used. A member whose name or type differs between two uses has a row for each;
 * among the rows of one use a name stands once. To add a member: a field of struct spec, a row here, and the code that
 * gives it a meaning.
 */
#ifndef CORE_JOBSCHEMA_H
#define CORE_JOBSCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/codec.h"
#include "base/schema.h"

struct err;
struct json;
struct names;
struct spec;
struct spec_rare;

#define JOB_NAME_MOST 236  /* bytes */
#define JOB_TEXT_MOST 4096 /* bytes of a path or another text of the body */

/* Uses of a member. */
enum {
	STORED = 1 << 0,      /* in the job's record in the store */
	IN_BODY = 1 << 1,     /* in its body, which the store alone has */
	AT_SUBMIT = 1 << 2,   /* may be given when it is submitted */
	AT_ALTER = 1 << 3,    /* may be changed while it waits */
	RUNNING = 1 << 4,     /* may be changed while it runs */
	SHOWN = 1 << 5,	      /* a field of the API's answers */
	HOOKED = 1 << 6,      /* hooks may set it, at submission and, with AT_ALTER, at changes */
	HERE = 1 << 7,	      /* means something at this site alone: other sites do not get it */
	AGAIN = 1 << 8,	      /* kept by a job that starts from the checkpoint of another */
	BRIEF = 1 << 9,	      /* shown to hooks when a job starts, ends or is weighed */
	PLANNED = 1 << 10,    /* the scheduler goes by it: a change of it means another place */
	RARE = 1 << 11,	      /* kept in struct spec_rare */
	JUDGED = 1 << 12,     /* has a reader of its own at submission */
	ECHOED = 1 << 13,     /* worked out for the API's answers; while no server runs, shown as it was given */
	IN_HISTORY = 1 << 14, /* kept of jobs that have ended (server/book/past.h) */
	IN_MORE = 1 << 15,    /* the same of a member without a column in the history */
};

extern const struct field job_members[]; /* up to one without a name */

/* Returns the record that has the member: the spec, or what few have of it. */
const void *spec_part(const struct spec *p, const struct field *f);
/* Writes what the store keeps of a spec into an open object. */
void spec_store(const struct spec *p, const struct names *words, struct json *j);
/* Reads what spec_store() wrote, of any version, into a spec that has its name and nothing else. */
int spec_load(const json_t *head, struct spec *p, struct spec_rare *rare, struct names *words, struct err *err);
/* Returns true if any member with a bit of `in` differs. */
bool spec_differs(const struct spec *a, const struct spec *b, uint32_t in);

#endif
