/*
 * attr_json.h - returns attributes as malloc'd JSON text: base/json.h and jansson.h cannot be
 * included together.
 */
#ifndef SUPPORT_ATTR_JSON_H
#define SUPPORT_ATTR_JSON_H

#include "rules/attr.h"

char *attrs_json(const struct attrs *a);
char *attrs_defaults_json(enum attr_owner owner);
char *attr_table_json(void);

#endif
