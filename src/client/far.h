/*
 * far.h - the spool of an agent on another host (agent/callers.c), for users of machines that have no agent, while no server can be reached.
 *
 *	STATE/spool/CLUSTER/spools		which agents the server named last, and how long to wait for the server
 *	STATE/spool/CLUSTER/offer, views/	as the agent that answered has them, for offline.h
 *	STATE/spool/CLUSTER/TRAY/13		a copy of what this user has left there
 *
 * The agent has the truth, and brings it to the server; what is here is for showing it. STATE is the user's own: $XDG_STATE_HOME/shunt.
 */
#ifndef CLIENT_FAR_H
#define CLIENT_FAR_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "client/tray.h"

struct far;
struct token;

/* `ca`, `token`: of the login to that cluster; copied. NULL: there is no place for it. */
struct far *far_create(const char *cluster, const char *ca, const char *token);
void far_free(struct far *f);
const char *far_dir(const struct far *f);
/* Seconds to wait for the server before an agent is asked; -1: none is known. */
int far_wait(const struct far *f);
/* What the server said of it (GET /v1/whoami) at the login, or since, is older than a day. */
bool far_is_due(const struct far *f);
void far_learn(const struct far *f, const json_t *whoami); /* trouble with it is nobody's */
void far_forget(const char *cluster);			   /* after a logout */

/* Asks the agents in turn; the first that knows the user gives its offer and its views. -ENOENT: none is known. */
int far_open(struct far *f, struct offer *ret, struct err *err);
/* As tray_put(), at the agent that far_open() found. -EIO: that is not known. */
int far_put(struct far *f, const struct offer *l, const struct change *c, uint64_t *ret_number, struct err *err);

#endif
