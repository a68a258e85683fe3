/*
 * removed.h - the list of stations removed from a pool: a text signed by the authority. Every
 * station passes it on, and none has to be trusted for it.
 *
 *	removed 3
 *	elm 4
 *	oak 2
 *
 * The number grows with each change, and the highest counts. After a name comes a join number:
 * certificates of that join and all earlier ones are revoked (tls/revoked.h), so that the name can
 * be used again.
 */
#ifndef STATION_REMOVED_H
#define STATION_REMOVED_H

#include "base/err.h"
#include "base/strbuf.h"
#include "tls/revoked.h"

#define REMOVED_MOST 20000 /* names */

/* The newest list known; {0}: no station was removed. */
struct removed {
	uint64_t number;
	struct revoked stations;
	struct strbuf text, signature;
};

/* Takes a text over if it is newer than the current one and signed with the key of the
 * certificate `ca`. Returns 1 if taken, 0 if it is not newer; -EKEYREJECTED or -EINVAL leave *r
 * unchanged. */
int removed_take(struct removed *r, const char *ca, const char *text, const char *signature, struct err *err);
/* Builds the next text, with one more name, and signs it with the authority's key. */
int removed_next(const struct removed *r, const char *ca_key, const char *name, uint64_t join, struct strbuf *ret_text,
		 struct strbuf *ret_signature, struct err *err);
/* Parses the number and the names of a text, without checking a signature. */
int removed_parse(const char *text, uint64_t *ret_number, struct revoked *ret, struct err *err);
bool removed_has(const struct removed *r, const char *name, uint64_t join);
void removed_fini(struct removed *r);

#endif
