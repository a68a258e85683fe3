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

/* Fills in the scratch job as if it were submitted now. */
void world_scratch(struct server *s, const struct spec *p);
int world_nodes(struct server *s, struct err *err); /* adds the nodes of the configuration */
/* Makes plan and scheduler, once all nodes are known; does nothing the second time. */
void world_begin(struct server *s);
/* Find out if the nodes could hold the request if all were up and empty. world_refuse() returns
 * -EINVAL, with the reason, if they could not. */
enum fit world_could_hold(struct server *s, const struct spec *p);
int world_refuse(struct server *s, const struct spec *p, struct err *err);
/* Writes why a job is held (BLOCK_MISFIT). */
void world_misfit(struct server *s, const struct spec *p, struct err *ret);
/* Appends the nodes that a job's queue allows, if not all. */
void world_tie(const struct server *s, const struct spec *p, struct strbuf *out);
enum fit world_could_hold_on(struct server *s, const struct spec *p, uint32_t allowed);
/* Attributes of the server have changed: calls world_rebuild() if necessary. */
void world_settings(struct server *s);
/* Makes the plan again at recovery, once all events are folded. Past events may not fit the
 * present nodes and partitions, so the folded plan is only right about where jobs are. */
void world_folded(struct server *s);
/* Makes plan and scheduler again after a change of policy, settings or nodes; keeps the places. */
void world_rebuild(struct server *s);
/* Updates the checkpoint times of jobs after a class was changed. */
void world_savings(struct server *s);
/* Updates the time that jobs take to end, after a queue was changed. */
void world_endings(struct server *s);
/* Updates the plan after a shutdown was announced, has begun or was cancelled. */
void world_outage(struct server *s);
/* Returns the shutdown used for planning. Borrowed. One that has begun without a known end does
 * not affect the time after it. */
const struct outage *world_expects(const struct server *s);
void world_gates(struct server *s); /* applies all gates to a new scheduler */
/* Derives everything again after nodes or partitions were added, changed or removed. */
void world_changed(struct server *s);
/* Derives a waiting job's request from the present nodes and partitions. If it differs from
 * before, the job loses its place. */
void world_request(struct server *s, uint32_t id);

#endif
