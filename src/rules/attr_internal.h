/*
 * attr_internal.h - interface between attr.c, which keeps sets of values, and attr_value.c, which
 * parses one.
 */
#ifndef RULES_ATTR_INTERNAL_H
#define RULES_ATTR_INTERNAL_H

#include "rules/attr.h"

/* Returns a resource's canonical name, malloc'd: lower case, and one name for synonyms. Returns
 * NULL with a message if the name is invalid. */
char *attr_resource(const struct attr *attr, const char *text, struct err *err);

/* Returns true if the attribute has named values: NAME.WORD. */
bool attr_is_dotted(const struct attr *attr);

/* Computes into `ret` what `op` with `text` makes of `old` (NULL: not set). The result's text is
 * malloc'd, or NULL if nothing is left. The caller sets ret->attr and ret->resource. */
int attr_value_make(struct attr_value *ret, const struct attr_value *old, enum attr_op op, const char *text,
		    struct err *err);

#endif
