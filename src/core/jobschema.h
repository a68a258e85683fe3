/*
 * jobschema.h - every member of a job, one row each, for the store, submissions, alterations,
 * hooks, other sites, the API's answers and description, and the history.
 *
 * A row's `in` lists the uses of the member. A member whose name or type differs between two uses
 * has a row for each; within one use a name appears once. To add a member, add a field to struct
 * spec, a row here, and the code that gives it a meaning.
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

#define JOB_HOLDS "uosn"   /* letters of holds in the order of their bits, and n for none */
#define JOB_NAME_MOST 236  /* bytes */
#define JOB_TEXT_MOST 4096 /* bytes of a path or another text in the body */
/* bytes of a script: larger ones would hold the server up when they are stored and started */
#define JOB_SCRIPT_MOST (4u << 20)
/* bytes of arguments and environment in JSON: Linux runs no program with more by default. Each text
 * counts JOB_WORD_EXTRA more. */
#define JOB_WORDS_MOST (2u << 20)
#define JOB_WORD_EXTRA 32

/* Uses of a member. */
enum {
	STORED = 1 << 0,      /* part of the job's record in the store */
	IN_BODY = 1 << 1,     /* part of the body, which only the store keeps */
	AT_SUBMIT = 1 << 2,   /* may be given at submission */
	AT_ALTER = 1 << 3,    /* may be changed while the job waits */
	RUNNING = 1 << 4,     /* may be changed while the job runs */
	SHOWN = 1 << 5,	      /* field of the API's answers */
	HOOKED = 1 << 6,      /* may be set by hooks at submission and, with AT_ALTER, at alterations */
	HERE = 1 << 7,	      /* meaningful only at this site; not sent to other sites */
	AGAIN = 1 << 8,	      /* kept by a job that starts from another job's checkpoint */
	BRIEF = 1 << 9,	      /* shown to hooks when a job starts, ends or is weighed */
	PLANNED = 1 << 10,    /* used by the scheduler; changing it means placing the job again */
	RARE = 1 << 11,	      /* kept in struct spec_rare */
	JUDGED = 1 << 12,     /* read by code of its own at submission */
	ECHOED = 1 << 13,     /* computed for the API's answers; while no server runs, shown as given */
	IN_HISTORY = 1 << 14, /* kept for jobs that have ended (server/book/past.h) */
	IN_MORE = 1 << 15,    /* like IN_HISTORY, for a member without a column in the history */
};

extern const struct field job_members[]; /* ends with a row without a name */

/* Returns the record that contains the member: the spec or its rare part. */
const void *spec_part(const struct spec *p, const struct field *f);
/* Writes the stored members of a spec into an open object. */
void spec_store(const struct spec *p, const struct names *words, struct json *j);
/* Reads what any version's spec_store() wrote into a spec that has only its name. */
int spec_load(const json_t *head, struct spec *p, struct spec_rare *rare, struct names *words, struct err *err);
/* Returns true if any member with a bit of `in` differs. */
bool spec_differs(const struct spec *a, const struct spec *b, uint32_t in);

#endif
