/* state.h - state of the life component. All of its folders may include it. */
#ifndef SERVER_LIFE_STATE_H
#define SERVER_LIFE_STATE_H

#include <stdint.h>

#include "base/map.h"
#include "rules/priority.h"
#include "sched/policy.h"
#include "server/life/run/migrate.h"
#include "server/life/world/outage.h"

struct err;
struct hookrank;
struct server;

struct world {
	struct policy policy; /* policy in force */
	struct priority_settings priority;
	/* kind of object and word -> priority set for it, plus PARTY_ZERO */
	struct map parties;
	/* request and set of nodes -> whether it could ever run: enum fit */
	struct map could;
	struct map tried;	   /* the same for requests that are only tried */
	uint64_t trials;	   /* number of trials given up when `tried` was begun */
	class_moves_vec moves;	   /* by class */
	struct hookrank *hookrank; /* NULL: no hook sets priorities */
	uint32_t scratch;	   /* core job that is never submitted, for what-if queries */
	struct outage outage;
	struct outage announced;   /* outage announced for after the one that has begun */
	int64_t reservations_next; /* time of the next layout */
	/* job_grow() of enter/, which is above the folder that calls it; NULL: requests stay as they
	 * are */
	int (*grow)(struct server *s, uint32_t id, double factor, struct err *err);
};

#endif
