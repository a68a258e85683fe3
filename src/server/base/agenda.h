/* agenda.h - jobs that wait for an instant, or for the follow-up to an event of this turn. */
#ifndef SERVER_AGENDA_H
#define SERVER_AGENDA_H

#include <stdbool.h>

#include "base/heap.h"
#include "base/map.h"
#include "plan/plan.h"

/* Kind of a retry: the value in agenda.retries. */
enum {
	TIMER_JOB,
	TIMER_NODE,  /* a node that is put back into service for a trial (failures.c) */
	TIMER_CLOSE, /* a node that is to be taken out of service (lives.c) */
};

struct agenda {
	struct heap retries; /* (when, core id or node, TIMER_...) */
	struct heap ends;    /* (planned end, core id, attempt): overruns */
	struct heap forgets; /* (when, core id): completed jobs to be forgotten */
	struct heap kills;   /* (when, core id, attempt): SIGKILL if SIGTERM was not enough */
	/* jobs with a START whose CPUs or last attempt are not free yet, or whose order is not
	 * built */
	job_vec starts;
	bool unsent; /* some of them have to wait for the next turn only */
	/* jobs with events of this turn that need a follow-up (dispatch_settle) */
	job_vec begun, returned, ended;
	VEC(struct doomed {
		uint32_t job;
		char *comment; /* who deleted it and why, or NULL */
	}) doomed;	       /* jobs that were deleted by a user */
};

#endif
