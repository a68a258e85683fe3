/*
 * world.h - the scheduler's world: nodes, plan and policy.
 */
#ifndef SERVER_WORLD_H
#define SERVER_WORLD_H

#include <stdint.h>

#include "plan/pack.h"
#include "server/life/state.h"

struct server;
struct spec;
struct strbuf;

/* Fills the scratch job in, as if it were to be submitted now. */
void world_scratch(struct server *s, const struct spec *p);
int world_nodes(struct server *s, struct err *err); /* by the configuration */
void world_begin(struct server *s); /* plan and scheduler, once all nodes are known; does nothing the second time */
/* Whether its nodes could hold what it asks for if all were up and empty, and why not: -EINVAL; and whether those of a set alone could. */
enum fit world_could_hold(struct server *s, const struct spec *p);
int world_refuse(struct server *s, const struct spec *p, struct err *err);
void world_misfit(struct server *s, const struct spec *p, struct err *ret); /* why it is held (BLOCK_MISFIT) */
/* Appends which nodes a job's queue leaves it, if not all. */
void world_tie(const struct server *s, const struct spec *p, struct strbuf *out);
enum fit world_could_hold_on(struct server *s, const struct spec *p, uint32_t allowed);
void world_settings(struct server *s); /* attributes of the server have changed: world_rebuild(), if it is concerned */
/* At recovery, once all events are folded. Those of the past may not fit the nodes and partitions of today, so that the plan is only right about where
 * jobs are: it is made anew from that. */
void world_folded(struct server *s);
void world_rebuild(
	struct server *s); /* the policy, a setting or the nodes have changed: the same places under other rules */
void world_savings(struct server *s); /* a class was changed */
void world_endings(struct server *s); /* a queue was changed: jobs may take another time to end */
void world_outage(struct server *s);  /* a shutdown was announced, has begun or was called off */
/* The shutdown that plans are made with: one that has begun without a known end says nothing of the time after it. Borrowed. */
const struct outage *world_expects(const struct server *s);
void world_gates(struct server *s);   /* all of them, with a new scheduler */
void world_changed(struct server *s); /* nodes were added, changed or removed, or partitions */
/* What a job that waits asks for follows from the nodes and partitions that there are now. Where that is something else than before, it loses its place. */
void world_request(struct server *s, uint32_t id);

#endif
