/*
 * gate.h - what keeps a waiting job from the scheduler: holds, -a, dependencies, a stopped queue.
 *
 * Of every job the gate knows a set of reasons (enum block) and what became of it so far. A job without a reason is *eligible*: the scheduler may consider it.
 * Reasons come and go by calls from outside, by time (gate_due) and by what becomes of other jobs (gate_news); the caller holds and releases jobs
 * in the scheduler accordingly. How many of the eligible ones may run at once is another matter: limit.h.
 *
 * A dependency is taken apart into relations to single jobs or whole arrays. Each waits in the list of the one it is about and is judged when that starts or
 * ends: the work is proportional to the relations, and comes in steps, so that thousands that wait for one job hold nobody up. Jobs with the same dependencies
 * share their relations.
 *
 * Jobs are numbers from 0, as in core/cluster.h. Everything is derived: nothing of it is stored. A clone goes on by itself, as a forecast does.
 */
#ifndef RULES_GATE_H
#define RULES_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "core/depend.h"
#include "core/spec.h"

/* Why a waiting job is not the scheduler's to consider (then it is held in the core). */
enum block {
	BLOCK_USER = 1 << 0,
	BLOCK_OTHER = 1 << 1,
	BLOCK_SYSTEM = 1 << 2,
	BLOCK_HOLDS = 7,
	BLOCK_TIME = 1 << 3,   /* not before its -a */
	BLOCK_DEPEND = 1 << 4, /* waits for other jobs */
	BLOCK_QUEUE = 1 << 6,  /* its queue is stopped */
	BLOCK_MISFIT = 1 << 7, /* no node could hold it, since the nodes have changed */
	BLOCK_RETRY = 1 << 8,  /* it failed, and is not tried again yet */
};
#define BLOCK_OPENS (BLOCK_TIME | BLOCK_RETRY | BLOCK_DEPEND) /* what time and other jobs can change */

struct gate;
struct gate *gate_create(void);
struct gate *gate_clone(const struct gate *g);
void gate_destroy(struct gate *g);

/* ---- what is known of jobs ---- */

/* Jobs first .. first + count - 1 are one array, and nothing was said of them before. */
void gate_array(struct gate *g, uint32_t first, uint32_t count);
void gate_started(struct gate *g, uint32_t job);
void gate_ended(struct gate *g, uint32_t job, int status);

/* ---- who waits ---- */

/* Whom an id of a dependency means: a job, or any element of an array that is meant as a whole. False: there is none any more. */
typedef bool (*gate_find)(void *context, const struct jobid *id, uint32_t *ret_job, bool *ret_whole);

/* What became of a job that find() does not know; `gone` if nobody does. */
typedef struct depend_fate (*gate_past)(void *context, const struct jobid *id);

/* A job as it begins to wait. */
struct gate_terms {
	unsigned block;	    /* reasons that are not in what follows */
	int64_t at, retry;  /* instants before which it may not start; 0: none */
	const char *depend; /* as after -W depend=, or NULL */
	gate_find find;
	gate_past past; /* or NULL: nothing is known of others */
	void *context;
	struct gate_share *share; /* of all jobs with this very text, which wait for the others together; or NULL */
};

/* A job begins to wait, or waits under other terms from now on. IMPOSSIBLE: its dependencies can't be fulfilled any more, and `why` (may be NULL) says which. */
enum depend_state gate_enter(struct gate *g, uint32_t job, const struct gate_terms *terms, int64_t now,
			     struct strbuf *why);
size_t gate_relations(const struct gate *g); /* number of relations in memory */
/* Returns 1 if a job with these dependencies would wait, through any number of others, for one of `jobs`, 0 if not; -E2BIG after that many steps, which are
 * jobs and relations. Relations that are fulfilled do not count: they stay so. */
int gate_reaches(const struct gate *g, const struct gate_terms *terms, const uint32_t *jobs, size_t njobs,
		 int64_t steps);
/* It waits no longer: nothing blocks it. */
void gate_leave(struct gate *g, uint32_t job);
unsigned gate_blocks(const struct gate *g, uint32_t job); /* enum block; 0: it is eligible */
void gate_block(struct gate *g, uint32_t job, unsigned bits);
void gate_unblock(struct gate *g, uint32_t job, unsigned bits);
/* The lowest job for which the last of its reasons has gone since this was asked last; UINT32_MAX: of none. */
uint32_t gate_freed(struct gate *g);
size_t gate_pending(const struct gate *g); /* blocked jobs that time or other jobs may make eligible */

/* ---- what follows ---- */

/* The next job for which a time has come; its reason is gone. */
bool gate_due(struct gate *g, int64_t now, uint32_t *ret_job);
int64_t gate_next(const struct gate *g); /* when there will be one; TIME_NEVER: never */

/* A step through the relations to jobs that have started or ended. NEWS_FREED: the job has no dependency left that it waits for; NEWS_DOOMED: its dependency
 * can't be fulfilled any more, `why` says which, and it is for the caller to end it. */
enum gate_news { NEWS_NONE, NEWS_STEP, NEWS_FREED, NEWS_DOOMED };
enum gate_news gate_news(struct gate *g, uint32_t *ret_job, struct strbuf *why);
bool gate_has_news(const struct gate *g);

/* What a job waits for, as depends_judge() says it. */
enum depend_state gate_explain(const struct gate *g, const struct gate_terms *terms, struct strbuf *why);

/* Each relation that is not fulfilled yet, with its text; `id` is NULL for those of on:. */
typedef void (*gate_relation)(void *context, enum depend_type type, const struct jobid *id, const char *text);
void gate_unmet(const struct gate *g, const struct gate_terms *terms, gate_relation relation, void *context);

#endif
