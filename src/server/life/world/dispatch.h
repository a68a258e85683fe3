/* dispatch.h - starts and ends of jobs: the scheduler's events and the engine's reports. */
#ifndef SERVER_DISPATCH_H
#define SERVER_DISPATCH_H

#include <stdint.h>

#include "engine/engine.h"
#include "server/job/entry.h"

void dispatch_listener(void *context, const struct event *e); /* receives the scheduler's events */
/* Assigns CPUs to starts; marks orders to be sent. */
void dispatch_starts(struct server *s);
/* Sends the orders, after the commit. */
void dispatch_orders(struct server *s);
void dispatch_overruns(struct server *s);
/* Returns the time of the next dispatch_overruns(). */
int64_t dispatch_next(const struct server *s);
/* Returns starts that wait for a node which is down to the queue. */
void dispatch_withdraw(struct server *s, uint32_t node);
extern const struct engine_listener dispatch_engine;
/* Ends a job that does not run. Uses text, who and foreign of the payload, which may be NULL. */
void job_end_waiting(struct server *s, uint32_t id, enum end_cause cause, const struct payload *p);
/* Ends a job in any state, without waiting for its processes. */
void job_purge(struct server *s, uint32_t id, const struct payload *p);
void dispatch_settle(struct server *s); /* follows up on events: dependencies, books, mail */

#endif
