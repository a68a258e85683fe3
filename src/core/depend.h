/*
 * depend.h - dependencies between jobs, in the syntax of -W depend=.
 *
 *	afterok:12:13[],afterany:14	types joined by ',', ids by ':'
 *	after		has started		before		the others wait for this to start,
 *	afterok		ended with status 0	beforeok	to end with status 0,
 *	afternotok	ended with another	beforenotok	to end with another,
 *	afterany	ended in any way	beforeany	to end in any way
 *	on:3		until three before... of other jobs are fulfilled
 *
 * TORQUE's names for arrays (afterokarray:12[], afterstartarray) mean the same types. An array
 * counts as one job: it has started when all its elements have, ended when all have, and its status
 * is 0 when all theirs are.
 *
 * This module knows only texts and outcomes; the caller looks up the jobs.
 */
#ifndef CORE_DEPEND_H
#define CORE_DEPEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "core/jobid.h"

#define DEPEND_TEXT_MAX 262144 /* characters */
#define DEPEND_JOBS_MAX 10000  /* ids in one text; also the maximum count of on: */

enum depend_type {
	DEPEND_AFTER,
	DEPEND_AFTEROK,
	DEPEND_AFTERNOTOK,
	DEPEND_AFTERANY,
	DEPEND_BEFORE, /* BEFORE + x is the mirror image of AFTER + x */
	DEPEND_BEFOREOK,
	DEPEND_BEFORENOTOK,
	DEPEND_BEFOREANY,
	DEPEND_ON,
	DEPEND_TYPES
};

struct depend {
	enum depend_type type;
	uint32_t count;	  /* DEPEND_ON only; else 0 */
	struct jobid *id; /* JOBID_JOB, JOBID_ELEMENT or JOBID_ARRAY */
	uint32_t nids;
};

struct depends {
	struct depend *v;
	uint32_t n;
};

/* Parses into *ret, which the caller frees with depends_fini(); "" means no dependency. On
 * -EINVAL the message names the faulty part and *ret is unchanged. */
int depends_parse(const char *text, struct depends *ret, struct err *err);
void depends_fini(struct depends *d); /* {0} is empty */
/* Returns the number of ids in a canonical text. */
int depends_count(const char *text);
/* Appends the canonical text, without server names. */
void depends_format(const struct depends *d, struct strbuf *out);

const char *depend_type_name(enum depend_type type);
bool depend_is_before(enum depend_type type);
/* Maps beforeok to afterok and so on: the relation seen from the job that is named. */
enum depend_type depend_mirror(enum depend_type before);

/* The outcome of a job so far. */
struct depend_fate {
	bool gone;    /* no longer known; the other fields do not count */
	bool started; /* is running or has run */
	bool ended;
	int status; /* exit status once ended; nonzero for a signal or a job that never ran */
};

/* Starting value for an array's outcome; add the outcome of each element with depend_fate_add(). */
#define DEPEND_FATE_NONE ((struct depend_fate){.started = true, .ended = true})
void depend_fate_add(struct depend_fate *sum, const struct depend_fate *element);

enum depend_state { DEPEND_SATISFIED, DEPEND_WAITING, DEPEND_IMPOSSIBLE };

/* Judges one relation, of a type below DEPEND_BEFORE, to one job. */
enum depend_state depend_judge(enum depend_type type, const struct depend_fate *fate);
/* Appends a clause such as "afterok:12: job 12 ended with exit status 1". `state` must not be
 * SATISFIED. */
void depend_explain(enum depend_type type, const struct jobid *id, const struct depend_fate *fate,
		    enum depend_state state, struct strbuf *why);

/* Judges all dependencies: IMPOSSIBLE if one is, else WAITING if one is. `fate_of` returns a
 * job's outcome; `released` is the number of fulfilled before... relations of other jobs that
 * name this one. A job's own before... relations do not make it wait. Unless the result is
 * SATISFIED, a clause that says which and why is appended to `why` (may be NULL), as by
 * depend_explain(). */
enum depend_state depends_judge(const struct depends *d,
				struct depend_fate (*fate_of)(void *context, const struct jobid *id), void *context,
				uint32_t released, struct strbuf *why);

#endif
