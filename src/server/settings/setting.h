/*
 * setting.h - attributes of server and queues (rules/attr.h), where the server takes them: checked against what the scheduler knows.
 */
#ifndef SERVER_SETTINGS_SETTING_H
#define SERVER_SETTINGS_SETTING_H

#include "rules/attr.h"

struct json_t; /* jansson.h, which can't be included beside base/json.h */

/* attrs_change(), and a policy must be one that a server can follow. */
int setting_change(struct attrs *a, enum attr_op op, const char *name, const char *value, struct err *err);
/* Whether the server's attributes go together. */
int settings_agree(const struct attrs *server, struct err *err);
/* What attrs_write() wrote, into an empty `a`. What can't be read is left out, and the first of it is the error:
 * -EINVAL. */
int attrs_read(struct attrs *a, const struct json_t *object, struct err *err);

#endif
