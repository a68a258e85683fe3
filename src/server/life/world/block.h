/*
 * block.h - what keeps a job from the scheduler: the gate and the limits (rules/gate.h, rules/limit.h), fed from specs, queues and attributes.
 */
#ifndef SERVER_LIFE_BLOCK_H
#define SERVER_LIFE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rules/gate.h"

struct object;
struct server;
struct array;
struct err;
struct forecast;
struct spec;

void block_begin(struct server *s, uint32_t id); /* a job begins to wait, or does so by another spec */
void block_set(struct server *s, uint32_t id, unsigned bits);
void block_clear(struct server *s, uint32_t id, unsigned bits);
void block_fit(struct server *s, uint32_t id);	   /* after a change of nodes: whether they could hold it */
void block_running(struct server *s, uint32_t id); /* a job runs, whatever blocked it */
void block_due(struct server *s);		   /* jobs whose time has come */
/* What jobs that have started or ended mean for others: as many steps of it; the rest becomes a work. False: there was nothing. */
bool block_news(struct server *s, int64_t *steps);
/* Appends what other jobs it waits for. */
void block_explain(struct server *s, uint32_t id, struct strbuf *out);
/* Each of them by itself. */
void block_unmet(struct server *s, uint32_t id, gate_relation relation, void *context);

/* The limits on running jobs, by the attributes as they are now; and the throttle of an array. */
void block_limits(struct server *s);
void block_forget(struct server *s, const struct object *x); /* one that is about to be removed has none any more */
void block_array(struct server *s, const struct array *a);

/* Refuses dependencies by which a job would wait, through others, for one of `jobs`. */
int block_circle_check(struct server *s, const struct spec *p, const uint32_t *jobs, size_t njobs, struct err *err);

/* The job server.scratch is submitted to a forecast by its spec, as it would be to the server. Returns the forecast's gate, which is the forecast's. */
const struct gate *block_foresee(struct server *s, struct forecast *f, const struct spec *p);

#endif
