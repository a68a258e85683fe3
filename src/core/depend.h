/*
 * depend.h - which jobs a job waits for, as after -W depend=.
 *
 *	afterok:12:13[],afterany:14	types joined by ',', ids by ':'
 *	after		has started		before		the others may start once this one has,
 *	afterok		ended with status 0	beforeok	... has ended with status 0,
 *	afternotok	ended with another	beforenotok	... with another,
 *	afterany	ended anyhow		beforeany	... anyhow
 *	on:3		until three before... of other jobs are fulfilled
 *
 * TORQUE's names for arrays (afterokarray:12[], afterstartarray) mean the same types. An array counts as one job: it
 * has started when all its elements have, ended when all have, and its status is 0 when all theirs are.
 *
 * Who is asked about a job is the caller: what is here knows only texts and what became of jobs.
 */
#ifndef CORE_DEPEND_H
#define CORE_DEPEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "core/jobid.h"

#define DEPEND_TEXT_MAX 262144 /* characters */
#define DEPEND_JOBS_MAX 10000  /* ids in one text; also what on: may count */

enum depend_type {
	DEPEND_AFTER,
	DEPEND_AFTEROK,
	DEPEND_AFTERNOTOK,
	DEPEND_AFTERANY,
	DEPEND_BEFORE, /* BEFORE + x is the other side of AFTER + x */
	DEPEND_BEFOREOK,
	DEPEND_BEFORENOTOK,
	DEPEND_BEFOREANY,
	DEPEND_ON,
	DEPEND_TYPES
};

struct depend {
	enum depend_type type;
	uint32_t count;	  /* of DEPEND_ON; else 0 */
	struct jobid *id; /* JOBID_JOB, JOBID_ELEMENT or JOBID_ARRAY */
	uint32_t nids;
};

struct depends {
	struct depend *v;
	uint32_t n;
};

/* Overwrites *ret, which the caller gives to depends_fini(); "" is no dependency. -EINVAL, with a sentence that says
 * which part, leaves it as it was. */
int depends_parse(const char *text, struct depends *ret, struct err *err);
void depends_fini(struct depends *d); /* {0} is empty */
/* Returns the number of ids in a canonical text. */
int depends_count(const char *text);
/* The canonical text, without names of servers. */
void depends_format(const struct depends *d, struct strbuf *out);

const char *depend_type_name(enum depend_type type);
bool depend_is_before(enum depend_type type);
/* beforeok -> afterok: what a job that is named after before... waits for. */
enum depend_type depend_mirror(enum depend_type before);

/* What became of a job so far. */
struct depend_fate {
	bool gone;    /* not known any more: nothing else here counts */
	bool started; /* runs, or has run */
	bool ended;
	int status; /* exit status once ended; a signal, or what never ran, is not 0 */
};

/* The fate of an array is DEPEND_FATE_NONE with the fate of each element added. */
#define DEPEND_FATE_NONE ((struct depend_fate){.started = true, .ended = true})
void depend_fate_add(struct depend_fate *sum, const struct depend_fate *element);

enum depend_state { DEPEND_SATISFIED, DEPEND_WAITING, DEPEND_IMPOSSIBLE };

/* One relation of a type below DEPEND_BEFORE to one job. */
enum depend_state depend_judge(enum depend_type type, const struct depend_fate *fate);
/* A clause about it: "afterok:12: job 12 ended with exit status 1". `state` is not SATISFIED. */
void depend_explain(enum depend_type type, const struct jobid *id, const struct depend_fate *fate,
		    enum depend_state state, struct strbuf *why);

/* All of them: IMPOSSIBLE if one is, else WAITING if one is. `fate_of` tells what became of a job; `released` how
 * many before... of other jobs that name this one are fulfilled. before... do not make the job that has them wait.
 * Unless SATISFIED, a clause that says which and why is appended to `why` (may be NULL): "afterok:12: job 12 ended
 * with exit status 1". */
enum depend_state depends_judge(const struct depends *d,
				struct depend_fate (*fate_of)(void *context, const struct jobid *id), void *context,
				uint32_t released, struct strbuf *why);

#endif
