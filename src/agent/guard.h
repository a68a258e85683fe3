/*
 * guard.h - what acts on a workstation for its owner: who is there is seen by senses.c, what follows is decided by station/owner.c, and our tasks are
 * frozen and continued by run/hold.c, all of it without the server, which is notified.
 */
#ifndef AGENT_GUARD_H
#define AGENT_GUARD_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

struct agent;
struct result;

/* The policy as text; "" or NULL: this is not a workstation. Taken over at once. A bad one is said in the log, and nothing changes. */
void guard_set(struct agent *a, const char *policy);
/* Begins with the policy that agent.json has, and what was known of the owner before. */
int guard_start(struct agent *a, struct err *err);
void guard_stop(struct agent *a);	      /* what is frozen stays so */
bool guard_background(const struct agent *a); /* jobs here run behind everything else */
/* Of parts: one that ends, or saves its work, by order of the server is not frozen any more; one that its user has suspended stays so. */
void guard_leaves(struct agent *a, const char *tag);
void guard_suspends(struct agent *a, const char *tag, bool suspended);
void guard_ended(struct agent *a, const struct result *r);
/* For the heartbeats: whether the owner claims the machine and why, and what was counted; NULL: it is not a workstation. New. */
json_t *guard_news(const struct agent *a);

#endif
