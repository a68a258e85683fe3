/*
 * revoked.h - nodes whose certificates are revoked before they expire, because the node was removed
 * or has joined again.
 *
 * A node that joins again gets a higher join number, so one number for each name is enough: that
 * join and all earlier ones are revoked.
 */
#ifndef TLS_REVOKED_H
#define TLS_REVOKED_H

#include "base/names.h"
#include "base/vec.h"
#include "tls/pki.h"

/* Revoked joins by node name; {0} is empty. */
struct revoked {
	struct names names;
	VEC(uint64_t) joins; /* last revoked join, by index in `names`; 0: none */
};

/* Revokes a join and all earlier ones; returns true if that changed anything. */
bool revoked_add(struct revoked *r, const char *name, uint64_t join);
/* Returns true if this certificate is revoked; a server's never is. A NULL `r` revokes nothing. */
bool revoked_has(const struct revoked *r, const struct cert_names *who);
void revoked_fini(struct revoked *r); /* leaves it empty */

#endif
