/*
 * attributes.h - changes of attributes in requests: of the server, of queues, and of named objects.
 */
#ifndef SERVER_ATTRIBUTES_H
#define SERVER_ATTRIBUTES_H

#include <jansson.h>
#include <stdbool.h>

#include "rules/attr.h"

struct asker;
struct server;

/* Checks that the user may make all the changes of a request's body. CODE_FORBIDDEN: not all. */
int changes_admit(const struct server *s, enum attr_owner owner, const char *name, const json_t *body,
		  const struct asker *w, struct err *err);
/* Makes the changes of a request's body, all or none. */
int changes_apply(struct server *s, struct attrs *a, const json_t *body, struct err *err);
bool name_is_good(const char *name); /* true: a new object may have this name */

#endif
