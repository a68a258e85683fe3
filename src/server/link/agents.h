/*
 * agents.h - links from other hosts.
 */
#ifndef SERVER_AGENTS_H
#define SERVER_AGENTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct link;
struct server;

void agents_link(struct server *s, struct link *l);   /* the listener's: a certificate of this cluster was shown */
void agents_settings(struct server *s);		      /* attributes or configuration have changed: tell them */
void agents_setting(struct server *s, uint32_t node); /* ... one of them, if it is connected */
/* Its link is closed, if there is one. retry: 0, it may come again at once; else what `sorry` says. */
void agents_cut(struct server *s, uint32_t node, int retry, const char *reason);
struct link *agents_link_of(const struct server *s, uint32_t node); /* NULL: it is not connected */
void agents_bye(struct server *s);	    /* leases are suspended, nodes_farewell() having been committed */
bool agents_unsent(const struct server *s); /* something has not left yet */
void agents_tell(struct server *s, const char *type, const char *key, json_t *value); /* a frame to all; borrowed */
void revoke_turn(struct server *s);

#endif
