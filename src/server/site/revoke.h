/*
 * revoke.h - certificates that no longer count.
 */
#ifndef SERVER_REVOKE_H
#define SERVER_REVOKE_H

#include <jansson.h>
#include <stdint.h>

struct err;
struct revoked;
struct server;

/* That join of the node and those before it; `valid_until` as node_info.certified. Its links are ended, other nodes told after the commit. */
void node_revoke(struct server *s, const char *name, uint64_t join, int64_t valid_until);
int revoke_restore(struct server *s, const char *name, const json_t *o, struct err *err); /* at recovery */
const struct revoked *revoked_list(struct server *s);
json_t *revoked_json(struct server *s); /* {NAME: JOIN} */
json_t *revoked_news(struct server *s); /* the same of those that nobody was told of yet, once; NULL: none */

#endif
