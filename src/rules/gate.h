/*
 * gate.h - decides which waiting jobs the scheduler may consider: holds, -a, dependencies, stopped
 * queues.
 *
 * For every job the gate keeps a set of reasons to wait (enum block) and its outcome so far. A job
 * without a reason is *eligible*: the scheduler may consider it. Reasons change by calls from
 * outside, with time (gate_due) and with the outcomes of other jobs (gate_news); the caller holds
 * and releases jobs in the scheduler accordingly. limit.h decides how many eligible jobs may run at
 * once.
 *
 * A dependency is split into relations to single jobs or whole arrays. Each relation waits in the
 * list of the job it refers to and is judged when that job starts or ends. The work is proportional
 * to the number of relations and is done in steps, so that thousands of jobs waiting for one do not
 * block the caller. Jobs with the same dependencies share their relations.
 *
 * Jobs are numbers from 0, as in core/cluster.h. All state is derived and none is stored. A clone
 * continues independently; forecasts use one.
 */
#ifndef RULES_GATE_H
#define RULES_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "core/depend.h"
#include "core/spec.h"

/* Reasons why the scheduler may not consider a waiting job (it is then held in the core). */
enum block {
	BLOCK_USER = 1 << 0,
	BLOCK_OTHER = 1 << 1,
	BLOCK_SYSTEM = 1 << 2,
	BLOCK_HOLDS = 7,
	BLOCK_TIME = 1 << 3,   /* its -a has not come yet */
	BLOCK_DEPEND = 1 << 4, /* waiting for other jobs */
	BLOCK_QUEUE = 1 << 6,  /* its queue is stopped */
	BLOCK_MISFIT = 1 << 7, /* no node could hold it since the nodes changed */
	BLOCK_RETRY = 1 << 8,  /* it failed and must not be retried yet */
};
/* Reasons that time or other jobs can remove. */
#define BLOCK_OPENS (BLOCK_TIME | BLOCK_RETRY | BLOCK_DEPEND)

struct gate;
struct gate *gate_create(void);
struct gate *gate_clone(const struct gate *g);
void gate_destroy(struct gate *g);
/* Has jobs marked whose reasons change; a clone marks none. The marks are borrowed. */
struct marks;
void gate_watch(struct gate *g, struct marks *marks);

/* ---- facts about jobs ---- */

/* Declares jobs first .. first + count - 1 as one array. Call before anything else about them. */
void gate_array(struct gate *g, uint32_t first, uint32_t count);
void gate_started(struct gate *g, uint32_t job);
void gate_ended(struct gate *g, uint32_t job, int status);
/* Frees the records of the job's page (base/rows.h), all of which have ended. No relation refers to
 * them or to an array that begins among them. */
void gate_release(struct gate *g, uint32_t job);

/* ---- waiting jobs ---- */

/* Finds the job that an id in a dependency refers to, or any element of an array that is meant
 * as a whole. Returns false if it no longer exists. */
typedef bool (*gate_find)(void *context, const struct jobid *id, uint32_t *ret_job, bool *ret_whole);

/* Returns the outcome of a job that find() does not know; `gone` if nothing is known. */
typedef struct depend_fate (*gate_past)(void *context, const struct jobid *id);

/* The conditions under which a job starts to wait. */
struct gate_terms {
	unsigned block;	    /* enum block: reasons not covered by the members below */
	int64_t at, retry;  /* instants before which it may not start; 0: none */
	const char *depend; /* text of -W depend=, or NULL */
	gate_find find;
	gate_past past; /* or NULL: nothing is known about past jobs */
	void *context;
	/* shared by all jobs with exactly this text, which wait together; or NULL */
	struct gate_share *share;
};

/* Makes a job wait, or changes its conditions. IMPOSSIBLE: its dependencies can no longer be
 * fulfilled, and `why` (may be NULL) says which. */
enum depend_state gate_enter(struct gate *g, uint32_t job, const struct gate_terms *terms, int64_t now,
			     struct strbuf *why);
size_t gate_relations(const struct gate *g); /* number of relations in memory */
/* Returns 1 if a job with these dependencies would wait, directly or through others, for one of
 * `jobs`, 0 if not, and -E2BIG after `steps` jobs and relations. Fulfilled relations do not
 * count, since they stay fulfilled. */
int gate_reaches(const struct gate *g, const struct gate_terms *terms, const uint32_t *jobs, size_t njobs,
		 int64_t steps);
/* Stops tracking a job's wait: nothing blocks it. */
void gate_leave(struct gate *g, uint32_t job);
unsigned gate_blocks(const struct gate *g, uint32_t job); /* enum block; 0: eligible */
void gate_block(struct gate *g, uint32_t job, unsigned bits);
void gate_unblock(struct gate *g, uint32_t job, unsigned bits);
/* Returns the lowest job whose last reason has gone since the previous call, or UINT32_MAX. */
uint32_t gate_freed(struct gate *g);
/* Returns the number of blocked jobs that time or other jobs may make eligible. */
size_t gate_pending(const struct gate *g);

/* ---- progress ---- */

/* Takes the next job whose instant has come and removes that reason. Returns false if there is
 * none. */
bool gate_due(struct gate *g, int64_t now, uint32_t *ret_job);
int64_t gate_next(const struct gate *g); /* instant of the next such job; TIME_NEVER: none */

/* Takes one step through the relations to jobs that have started or ended. NEWS_FREED: the job
 * has no unfulfilled dependency left. NEWS_DOOMED: its dependency can no longer be fulfilled;
 * `why` says which, and the caller must end the job. */
enum gate_news { NEWS_NONE, NEWS_STEP, NEWS_FREED, NEWS_DOOMED };
enum gate_news gate_news(struct gate *g, uint32_t *ret_job, struct strbuf *why);
bool gate_has_news(const struct gate *g);

/* Judges a job's dependencies like depends_judge(). */
enum depend_state gate_explain(const struct gate *g, const struct gate_terms *terms, struct strbuf *why);

/* Reports each unfulfilled relation with its text; `id` is NULL for those of on:. */
typedef void (*gate_relation)(void *context, enum depend_type type, const struct jobid *id, const char *text);
void gate_unmet(const struct gate *g, const struct gate_terms *terms, gate_relation relation, void *context);

#endif
