/* claims.h - claims of a workstation by its owner: events of the node, and their consequences
 * for jobs. */
#ifndef SERVER_CLAIMS_H
#define SERVER_CLAIMS_H

#include <jansson.h>
#include <stdint.h>

struct err;
struct server;

/* Handles what a heartbeat reports about the owner (docs/protocol.md); NULL: nothing. */
void claim_heard(struct server *s, uint32_t node, const json_t *news);
/* Sets the policy of a node after checking it; NULL or "": it is not a workstation (any more).
 * The caller stores the node. -EINVAL: the error lists what is allowed. */
int claim_policy(struct server *s, uint32_t node, const char *policy, struct err *err);

#endif
