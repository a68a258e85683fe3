/*
 * agenda.h - which jobs wait for an instant, for a limit, or for what follows from an event of this turn.
 */
#ifndef SERVER_AGENDA_H
#define SERVER_AGENDA_H

#include "base/heap.h"
#include "base/map.h"
#include "plan/plan.h"

/* Jobs that wait at the same limits (block.c). */
struct gate {
	uint64_t key;
	struct heap waiting; /* (rank in microseconds, core id); also some that have gone on since */
};

struct agenda {
	struct heap releases; /* (at, core id): BLOCK_TIME */
	struct heap retries;  /* (when, core id or node): failures.c */
	struct heap ends;     /* (planned end, core id, attempt): overruns */
	struct heap forgets;  /* (when, core id): completed jobs to be forgotten */
	struct heap kills;    /* (when, core id, attempt): SIGKILL if SIGTERM was not enough */
	job_vec starts; /* START was decided; their CPUs or their last attempt are not free yet, or the order was not built */
	job_vec begun, returned, doomed, ended; /* events of this turn that something follows from (dispatch_settle) */
	VEC(struct gate) gates;			/* block.c: who waits for a limit to allow another */
	struct map gate_index;			/* gate.key -> index */
};

#endif
