/*
 * entrance.h - interactive jobs: they start when they come, if need be in the place of running jobs, or not at all (policy artaras).
 *
 * The job that makes room is the one that has run longest since its last start, relative to its walltime, and is not interactive. It is stopped,
 * waits before all others, and starts again as soon as there is room. The interactive job's place begins at once and is longer by the time that
 * the other takes to leave, so that the starts planned behind it are right. On nodes outside partitions several jobs may have to make room. A job
 * whose guaranteed deadline would break is not stopped, nor is a waiting one delayed so far, unless settings.interactive_breaks.
 */
#ifndef SCHED_ENTRANCE_H
#define SCHED_ENTRANCE_H

#include "sched/sched.h"

/* What the caller knows of stopping a running job. */
struct yield {
	int64_t takes; /* seconds until its processes are gone, at most */
	int64_t from;  /* it may be stopped from this instant on; TIME_NEVER: not at all */
};
/* Asked of running jobs; NULL: all may be stopped, which takes no time. It is not asked by forecasts. */
typedef struct yield (*sched_asks_yield)(void *context, uint32_t job);
void sched_on_yield(struct sched *s, sched_asks_yield yield, void *context);

enum entry_way {
	ENTRANCE_FREE,	    /* there is room */
	ENTRANCE_DISPLACES, /* ... if `victims` are stopped */
	ENTRANCE_LIMITED,   /* a limit on running jobs is reached */
	ENTRANCE_FULL, /* no place suits it, or all that do have jobs that are not stopped for it: interactive and emergency ones */
	ENTRANCE_GUARANTEED,  /* the deadline of `job` would break */
	ENTRANCE_UNAVAILABLE, /* `job` may not be stopped before `from` */
};

struct entrance {
	enum entry_way way;
	job_vec victims; /* longest share first */
	int64_t takes;	 /* seconds until they are gone, at most */
	uint32_t job;	 /* that is in the way; JOB_NONE: none in particular */
	int64_t from;	 /* TIME_NEVER: never */
};
void entrance_fini(struct entrance *e);

/* How an interactive job would come in now: one in STATE_NEW or STATE_CANDIDATE, filled in, and a cycle was finished. Nothing is changed. */
void sched_entrance(struct sched *s, uint32_t job, int64_t now, struct entrance *ret);

#endif
