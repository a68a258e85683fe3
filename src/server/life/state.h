/*
 * state.h - what the server keeps for this folder. All of its folders may include it.
 */
#ifndef SERVER_LIFE_STATE_H
#define SERVER_LIFE_STATE_H

#include <stdint.h>

#include "base/map.h"
#include "rules/priority.h"
#include "sched/policy.h"
#include "server/life/run/migrate.h"
#include "server/life/world/outage.h"

struct hookrank;

struct world {
	struct policy policy; /* the one it goes by */
	struct priority_settings priority;
	struct map parties;	   /* kind of object and word -> the priority that is set, plus PARTY_ZERO */
	struct map could;	   /* by request and set of nodes, whether it could ever run: enum fit */
	class_moves_vec moves;	   /* by class */
	struct hookrank *hookrank; /* NULL: no hook says anything of priorities */
	uint32_t scratch;	   /* a core job that is never submitted: for what-if */
	struct outage outage;
	struct outage announced;   /* for later than the one that has begun */
	int64_t reservations_next; /* when they are laid out again */
};

#endif
