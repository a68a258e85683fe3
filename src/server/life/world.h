/*
 * world.h - the scheduler's world: nodes, plan and policy.
 */
#ifndef SERVER_WORLD_H
#define SERVER_WORLD_H

#include "base/vec.h"
#include "sched/policy.h"

struct world {
	struct policy policy; /* the one it goes by */
	VEC(uint8_t) could;   /* by request, whether it could ever run: 0 not asked yet, else enum fit + 1 */
	uint32_t scratch;     /* a core job that is never submitted: for what-if */
	uint32_t fallback;    /* a request of one CPU, for jobs that no node could hold any more */
};

#endif
