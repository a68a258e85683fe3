/*
 * revoked.h - nodes whose certificates no longer count, although they have not expired: they were removed, or have joined again.
 *
 * A node that joins again gets a higher number. So one number for each name is enough: that join and all before it are revoked.
 */
#ifndef TLS_REVOKED_H
#define TLS_REVOKED_H

#include "base/names.h"
#include "base/vec.h"
#include "tls/pki.h"

/* {0} is empty. */
struct revoked {
	struct names names;
	VEC(uint64_t) joins; /* by the name's number; 0: none is */
};

/* True: that is new. */
bool revoked_add(struct revoked *r, const char *name, uint64_t join);
/* Whether this certificate is revoked; a server's never is. `r` may be NULL: nothing is known. */
bool revoked_has(const struct revoked *r, const struct cert_names *who);
void revoked_fini(struct revoked *r); /* leaves it empty */

#endif
