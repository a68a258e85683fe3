/*
 * far.h - the spool of an agent on another host (agent/callers.c), for users of machines that have
 * no agent, while no server can be reached.
 *
 *	STATE/spool/CLUSTER/spools		the agents the server named last; how long to wait
 *	STATE/spool/CLUSTER/offer, views/	copies from the agent that answered, for offline.h
 *	STATE/spool/CLUSTER/TRAY/13		a copy of a change this user left there
 *
 * The agent's spool is authoritative, and the agent delivers it; the copies here serve for display
 * only. STATE is the user's own: $XDG_STATE_HOME/shunt.
 */
#ifndef CLIENT_FAR_H
#define CLIENT_FAR_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "client/tray.h"

struct far;
struct token;

/* Creates the spool of a cluster; `ca` and `token` come from the login and are copied. Returns NULL
 * if it has no place for files. */
struct far *far_create(const char *cluster, const char *ca, const char *token);
void far_free(struct far *f);
const char *far_dir(const struct far *f);
/* Returns how long to wait for the server before asking an agent, s; -1: no agent is known. */
int far_wait(const struct far *f);
/* Returns true if the list of agents (GET /v1/whoami) is more than a day old. */
bool far_is_due(const struct far *f);
void far_learn(const struct far *f, const json_t *whoami); /* ignores errors */
void far_forget(const char *cluster);			   /* after a logout */

/* Asks the agents in turn; takes the offer and the views of the first that knows the user. Returns
 * -ENOENT if no agent is known. */
int far_open(struct far *f, struct offer *ret, struct err *err);
/* Spools a change like tray_put() at the agent that far_open() found. Returns -EIO if it is not
 * known whether the agent has it. */
int far_put(struct far *f, const struct offer *l, const struct change *c, uint64_t *ret_number, struct err *err);

#endif
