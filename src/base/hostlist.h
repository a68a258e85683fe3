/*
 * hostlist.h - "n[1-3,07],gw" to and from lists of names.
 *
 * A name is made of letters, digits, '.', '-' and '_', up to 255 of them. Brackets may stand anywhere in it and more
 * than once: r[1-2]n[01-16].site is 32 names, and zeros in front of a range's first number set its width.
 */
#ifndef BASE_HOSTLIST_H
#define BASE_HOSTLIST_H

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

typedef VEC(char *) name_list; /* owns its strings */

/* Overwrites *ret, which the caller frees; at most 100,000 names. -EINVAL leaves it as it was. */
int hostlist_parse(const char *text, name_list *ret, struct err *err);
/* Keeps the order and folds runs: n[1-3,7]. Numbers before the first dot fold, as in n[1-3].site. */
void hostlist_format(char *const *names, size_t n, struct strbuf *out);
void name_list_free(name_list *l);

#endif
