/*
 * claims.h - the owner of a workstation claims it, and gives it back: events of the node, and what follows for jobs.
 */
#ifndef SERVER_CLAIMS_H
#define SERVER_CLAIMS_H

#include <jansson.h>
#include <stdint.h>

struct err;
struct server;

/* What a heartbeat says of the owner (docs/protocol.md); NULL: nothing. */
void claim_heard(struct server *s, uint32_t node, const json_t *news);
/* The policy of a node, checked; NULL or "": it is no workstation (any more). The caller stores the node. -EINVAL, with what is allowed. */
int claim_policy(struct server *s, uint32_t node, const char *policy, struct err *err);

#endif
