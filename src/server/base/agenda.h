/*
 * agenda.h - which jobs wait for an instant, or for what follows from an event of this turn.
 */
#ifndef SERVER_AGENDA_H
#define SERVER_AGENDA_H

#include "base/heap.h"
#include "base/map.h"
#include "plan/plan.h"

/* Whose a retry is: value in agenda.retries. */
enum {
	TIMER_JOB,
	TIMER_NODE,  /* a node that is tried again (failures.c) ... */
	TIMER_CLOSE, /* ... or is to be out of service (life.c) */
};

struct agenda {
	struct heap retries; /* (when, core id or node, TIMER_...) */
	struct heap ends;    /* (planned end, core id, attempt): overruns */
	struct heap forgets; /* (when, core id): completed jobs to be forgotten */
	struct heap kills;   /* (when, core id, attempt): SIGKILL if SIGTERM was not enough */
	job_vec starts; /* START was decided; their CPUs or their last attempt are not free yet, or the order was not built */
	job_vec begun, returned, ended; /* events of this turn that something follows from (dispatch_settle) */
	VEC(struct doomed {
		uint32_t job;
		char *comment; /* by whom, and why; or NULL */
	}) doomed;	       /* ... of jobs that somebody had deleted */
};

#endif
