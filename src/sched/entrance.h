/*
 * entrance.h - interactive jobs: they start on arrival, displacing running jobs if necessary, or
 * not at all (policy artaras).
 *
 * The victim is the job, not itself interactive, that has run longest since its last start relative
 * to its walltime. It is stopped, waits ahead of all others, and starts again as soon as there is
 * room. The interactive job's place begins at once and is extended by the time the victim takes to
 * leave, so the starts planned behind it are right. On nodes outside partitions several jobs may be
 * displaced. A job whose guaranteed deadline would break is not stopped, and no waiting job is
 * delayed past its guaranteed deadline, unless settings.interactive_breaks is set.
 */
#ifndef SCHED_ENTRANCE_H
#define SCHED_ENTRANCE_H

#include "sched/sched.h"

/* The caller's knowledge about stopping a running job. */
struct yield {
	int64_t takes; /* maximum seconds until its processes are gone */
	int64_t from;  /* earliest instant at which it may be stopped; TIME_NEVER: never */
};
/* Returns the above for a running job. Without a callback all jobs may be stopped at once.
 * Forecasts do not call it. */
typedef struct yield (*sched_asks_yield)(void *context, uint32_t job);
void sched_on_yield(struct sched *s, sched_asks_yield yield, void *context);

enum entry_way {
	ENTRANCE_FREE,	    /* there is room */
	ENTRANCE_DISPLACES, /* there is room if `victims` are stopped */
	ENTRANCE_LIMITED,   /* a limit on running jobs is reached */
	/* no place suits the job, or those that do hold interactive or emergency jobs, which are
	 * not stopped */
	ENTRANCE_FULL,
	ENTRANCE_GUARANTEED,  /* the deadline of `job` would break */
	ENTRANCE_UNAVAILABLE, /* `job` may not be stopped before `from` */
};

struct entrance {
	enum entry_way way;
	job_vec victims; /* largest share of walltime used first */
	int64_t takes;	 /* maximum seconds until the victims are gone */
	uint32_t job;	 /* the job in the way; JOB_NONE: none in particular */
	int64_t from;	 /* TIME_NEVER: `job` may never be stopped */
};
void entrance_fini(struct entrance *e);

/* Computes how an interactive job would start now, without changing anything. The job is filled
 * in and in STATE_NEW or STATE_CANDIDATE, and a cycle has been completed. */
void sched_entrance(struct sched *s, uint32_t job, int64_t now, struct entrance *ret);

#endif
