/* block.h - what keeps a job from the scheduler: the gate and the limits (rules/gate.h,
 * rules/limit.h), fed from specs, queues and attributes. */
#ifndef SERVER_LIFE_BLOCK_H
#define SERVER_LIFE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rules/gate.h"

struct object;
struct server;
struct array;
struct forecast;

/* Computes what blocks a job that begins to wait, or waits with a new spec. */
void block_begin(struct server *s, uint32_t id);
void block_set(struct server *s, uint32_t id, unsigned bits);
void block_clear(struct server *s, uint32_t id, unsigned bits);
/* Blocks or releases a job after a change of nodes, depending on whether they could hold it. */
void block_fit(struct server *s, uint32_t id);
/* Does so for all jobs, after a change of the ways by which they may leave for other sites. */
void block_ways(struct server *s);
void block_due(struct server *s); /* releases jobs whose time has come */
/* Updates other jobs after starts and ends, within *steps; the rest becomes a work. Returns
 * false if there was nothing to do. */
bool block_news(struct server *s, int64_t *steps);
/* Appends the other jobs it waits for. */
void block_explain(struct server *s, uint32_t id, struct strbuf *out);
/* Calls `relation` for each of its unmet dependencies. */
void block_unmet(struct server *s, uint32_t id, gate_relation relation, void *context);

/* Sets the limits on running jobs from the present attributes, and the throttle of an array. */
void block_limits(struct server *s);
/* Drops the limits of an object that is about to be removed. */
void block_forget(struct server *s, const struct object *x);
void block_array(struct server *s, const struct array *a);

/* Refuses dependencies by which a job would wait, through others, for one of `jobs`. */
int block_circle_check(struct server *s, const struct spec *p, const uint32_t *jobs, size_t njobs, struct err *err);

/* Submits jobs like server.scratch to a forecast with this spec, as the server would: several if
 * they are an array, of which at most `most` run at once (0: any number). Returns the first one's
 * number in the forecast, and the gate, which the forecast owns. */
uint32_t block_foresee(struct server *s, struct forecast *f, const struct spec *p, uint32_t count, int64_t most,
		       const struct gate **ret);

#endif
