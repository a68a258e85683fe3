/*
 * guard.h - acts on a workstation for its owner: senses.c observes who is there, station/owner.c
 * decides, and run/hold.c freezes and continues our tasks; all without the server, which is
 * notified.
 */
#ifndef AGENT_GUARD_H
#define AGENT_GUARD_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

struct agent;
struct result;

/* Applies a policy given as text; "" or NULL: this is not a workstation. A bad policy is logged and
 * changes nothing. */
void guard_set(struct agent *a, const char *policy);
/* Starts with the policy in agent.json, and with what an earlier agent knew of the owner. */
int guard_start(struct agent *a, struct err *err);
void guard_stop(struct agent *a); /* frozen tasks stay frozen */
/* Returns true if jobs here run behind everything else. */
bool guard_background(const struct agent *a);
/* Events of parts: a part that ends, or saves its work, by order of the server is not frozen any
 * more; a part that its user has suspended stays suspended. */
void guard_leaves(struct agent *a, const char *tag);
void guard_suspends(struct agent *a, const char *tag, bool suspended);
void guard_ended(struct agent *a, const struct result *r);
/* Returns a new object for heartbeats: whether the owner claims the machine and why, and the
 * counters; NULL: not a workstation. */
json_t *guard_news(const struct agent *a);

#endif
