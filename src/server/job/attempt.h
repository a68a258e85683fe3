/*
 * attempt.h - processes that were ordered and have not ended: which CPUs and GPUs they have, on which hosts.
 */
#ifndef SERVER_ATTEMPT_H
#define SERVER_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

/* Processes that were ordered and have not ended. */
struct attempt {
	uint32_t job;
	uint32_t attempt;
	bool ordered; /* the order left */
	bool started;
	uint32_t nfrags;
	int32_t *node; /* a node for each fragment */
	int32_t **cpu; /* and the CPUs of the node that it has */
	int32_t *ncpus;
	int32_t **gpu; /* and GPUs */
	int32_t *ngpus;
	int64_t *memory; /* KiB of each */
	bool held;	 /* those are counted in their nodes */
	int64_t lease,
		grace; /* seconds: silent for so long, its hosts end it (0: they don't); and so long that takes */
};

#endif
