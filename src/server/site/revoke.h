/* revoke.h - revoked certificates. */
#ifndef SERVER_REVOKE_H
#define SERVER_REVOKE_H

#include <jansson.h>
#include <stdint.h>

struct err;
struct revoked;
struct server;

/* Revokes the certificates of that join of the node and of those before it; `valid_until` as
 * node_info.certified. Ends its links; other nodes are notified after the commit. */
void node_revoke(struct server *s, const char *name, uint64_t join, int64_t valid_until);
/* Restores a revocation, at recovery. */
int revoke_restore(struct server *s, const char *name, const json_t *o, struct err *err);
const struct revoked *revoked_list(struct server *s);
/* Returns all revocations as a new object {NAME: JOIN}. */
json_t *revoked_json(struct server *s);
/* Returns those not announced yet, once; NULL: none. */
json_t *revoked_news(struct server *s);

#endif
