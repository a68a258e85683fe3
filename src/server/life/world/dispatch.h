/*
 * dispatch.h - starts and ends: the scheduler's events, and what the engine reports.
 */
#ifndef SERVER_DISPATCH_H
#define SERVER_DISPATCH_H

#include <stdint.h>

#include "engine/engine.h"
#include "server/job/entry.h"

void dispatch_listener(void *context, const struct event *e); /* the scheduler's events */
void dispatch_starts(struct server *s);			      /* gives CPUs to starts; marks orders to be sent */
void dispatch_orders(struct server *s);			      /* after the commit */
void dispatch_overruns(struct server *s);
int64_t dispatch_next(const struct server *s); /* when to call that again */
void dispatch_withdraw(struct server *s,
		       uint32_t node); /* starts that wait for a node which is down go back to the queue */
extern const struct engine_listener dispatch_engine;
/* Ends one that does not run. Of the payload, which may be NULL, text, who and foreign count. */
void job_end_waiting(struct server *s, uint32_t id, enum end_cause cause, const struct payload *p);
/* Ends a job in any state, without waiting for its processes. */
void job_purge(struct server *s, uint32_t id, const struct payload *p);
void dispatch_settle(struct server *s); /* what follows from events: dependencies, books, mail */

#endif
