/*
 * agents.h - links from other hosts.
 */
#ifndef SERVER_AGENTS_H
#define SERVER_AGENTS_H

#include <stdbool.h>
#include <stdint.h>

struct link;
struct server;

/* Takes over a link with a certificate of this cluster from the listener. */
void agents_link(struct server *s, struct link *l);
/* Sends changed attributes or configuration to all agents. */
void agents_settings(struct server *s);
/* Does so for one agent, if it is connected. */
void agents_setting(struct server *s, uint32_t node);
/* Closes the agent's link, if there is one. retry: seconds sent in `sorry`, -1: the node was
 * removed; 0: no `sorry` is sent, and the agent may come back at once. */
void agents_cut(struct server *s, uint32_t node, int retry, const char *reason);
/* Returns the link of a node; NULL: not connected. */
struct link *agents_link_of(const struct server *s, uint32_t node);
/* Suspends leases, after nodes_farewell() was committed. */
void agents_bye(struct server *s);
/* Returns true if some output has not been sent yet. */
bool agents_unsent(const struct server *s);
void revoke_turn(struct server *s);

#endif
