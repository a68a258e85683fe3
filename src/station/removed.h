/*
 * removed.h - the stations that were removed from a pool, as a text that the authority has signed and every station passes on: none has to be believed.
 *
 *	removed 3
 *	elm 4
 *	oak 2
 *
 * The number grows with each change, and the highest counts. Behind a name is the number of a join: certificates of that join and all before it no longer count (tls/revoked.h), so that the
 * name can be given again.
 */
#ifndef STATION_REMOVED_H
#define STATION_REMOVED_H

#include "base/err.h"
#include "base/strbuf.h"
#include "tls/revoked.h"

#define REMOVED_MOST 20000 /* names */

/* {0}: none was. */
struct removed {
	uint64_t number;
	struct revoked stations;
	struct strbuf text, signature;
};

/* Takes a text over if it is newer than what is there, and signed with the key of the certificate `ca`. 1: it was; 0: it is not newer; -EKEYREJECTED, -EINVAL: left as it was. */
int removed_take(struct removed *r, const char *ca, const char *text, const char *signature, struct err *err);
/* The next text, with one name more, and its signature by the authority's key. */
int removed_next(const struct removed *r, const char *ca_key, const char *name, uint64_t join, struct strbuf *ret_text,
		 struct strbuf *ret_signature, struct err *err);
/* The number and the names of a text, whoever has written it. */
int removed_parse(const char *text, uint64_t *ret_number, struct revoked *ret, struct err *err);
bool removed_has(const struct removed *r, const char *name, uint64_t join);
void removed_fini(struct removed *r);

#endif
