/*
 * world.h - the scheduler's world: nodes, plan and policy.
 */
#ifndef SERVER_WORLD_H
#define SERVER_WORLD_H

#include <stdint.h>

#include "base/vec.h"
#include "plan/pack.h"
#include "sched/policy.h"

struct server;

struct world {
	struct policy policy; /* the one it goes by */
	VEC(uint8_t) could;   /* by request, whether it could ever run: 0 not asked yet, else enum fit + 1 */
	uint32_t scratch;     /* a core job that is never submitted: for what-if */
};

int world_nodes(struct server *s, struct err *err); /* by the configuration */
void world_begin(struct server *s); /* plan and scheduler, once all nodes are known; does nothing the second time */
enum fit world_could_hold(struct server *s, uint32_t request);			    /* all its nodes up and empty */
int world_refuse(struct server *s, uint32_t request, struct err *err);		    /* why they could not: -EINVAL */
enum fit world_could_hold_on(struct server *s, uint32_t request, uint32_t allowed); /* only those of a set */
void world_settings(struct server *s); /* attributes of the server have changed: world_rebuild(), if it is concerned */
void world_rebuild(
	struct server *s); /* the policy, a setting or the nodes have changed: the same places under other rules */
void world_gates(struct server *s);   /* all of them, with a new scheduler */
void world_changed(struct server *s); /* nodes were added, changed or removed */

#endif
