/*
 * attr_json.h - attributes as JSON text, malloc'd: base/json.h and jansson.h can't be included together.
 */
#ifndef SUPPORT_ATTR_JSON_H
#define SUPPORT_ATTR_JSON_H

#include "rules/attr.h"

char *attrs_json(const struct attrs *a);
char *attrs_defaults_json(enum attr_owner owner);
char *attr_table_json(void);

#endif
