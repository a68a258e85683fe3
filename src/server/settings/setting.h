/* setting.h - changes attributes of server and queues (rules/attr.h), checked against the
 * scheduler's abilities. */
#ifndef SERVER_SETTINGS_SETTING_H
#define SERVER_SETTINGS_SETTING_H

#include "rules/attr.h"

struct json_t; /* from jansson.h, which cannot be included together with base/json.h */

/* Calls attrs_change() after checking that a policy is one the server can follow. */
int setting_change(struct attrs *a, enum attr_op op, const char *name, const char *value, struct err *err);
/* Checks that the server's attributes are consistent. */
int settings_agree(const struct attrs *server, struct err *err);
/* Reads the output of attrs_write() into an empty `a`. Skips what cannot be read; the error has
 * the first of it: -EINVAL. */
int attrs_read(struct attrs *a, const struct json_t *object, struct err *err);

#endif
