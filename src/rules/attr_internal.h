/*
 * attr_internal.h - between attr.c, which keeps sets of values, and attr_value.c, which reads one.
 */
#ifndef RULES_ATTR_INTERNAL_H
#define RULES_ATTR_INTERNAL_H

#include "rules/attr.h"

/* The resource's canonical name: small letters, and one name for what has several. Malloc'd; NULL with the sentence
 * if it is none. */
char *attr_resource(const struct attr *attr, const char *text, struct err *err);

/* Whether its values have names of their own: NAME.WORD. */
bool attr_is_dotted(const struct attr *attr);

/* What `op` with `text` makes of `old` (NULL: not set) into `ret`, whose text is malloc'd, or NULL when nothing is
 * left of it. ret->attr and ret->resource are given. */
int attr_value_make(struct attr_value *ret, const struct attr_value *old, enum attr_op op, const char *text,
		    struct err *err);

#endif
