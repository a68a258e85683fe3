/*
 * hostlist.h - converts "n[1-3,07],gw" to and from lists of names.
 *
 * A name is made of letters, digits, '.', '-' and '_', up to 255 of them. Brackets may appear
 * anywhere in it and more than once: r[1-2]n[01-16].site is 32 names, and leading zeros in a
 * range's first number set its width.
 */
#ifndef BASE_HOSTLIST_H
#define BASE_HOSTLIST_H

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

typedef VEC(char *) name_list; /* owns its strings */

/* Parses at most 100,000 names into *ret, which the caller frees. On -EINVAL *ret is unchanged. */
int hostlist_parse(const char *text, name_list *ret, struct err *err);
/* Appends the list in its order, with runs folded: n[1-3,7]. Only numbers before the first dot
 * fold, as in n[1-3].site. */
void hostlist_format(char *const *names, size_t n, struct strbuf *out);
void name_list_free(name_list *l);

#endif
