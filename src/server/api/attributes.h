/*
 * attributes.h - changes of attributes, as requests have them: of the server, of queues, and of named objects.
 */
#ifndef SERVER_ATTRIBUTES_H
#define SERVER_ATTRIBUTES_H

#include <jansson.h>
#include <stdbool.h>

struct asker;
struct attrs;
struct err;
struct server;

/* The changes of a request's body: all or none. Operators may start, stop, enable and disable queues. */
int changes_apply(struct server *s, struct attrs *a, const json_t *body, const struct asker *w, struct err *err);
bool name_is_good(const char *name); /* of a new object */

#endif
