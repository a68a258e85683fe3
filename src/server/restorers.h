/*
 * restorers.h - restores the server's state from the objects in the store: a row for each kind.
 *
 * To store another kind of object, add a row in restorers.c.
 */
#ifndef SERVER_RESTORERS_H
#define SERVER_RESTORERS_H

#include <jansson.h>

struct err;
struct server;

/* Restores one object. Ignores kinds that are not known, which a newer version has written. */
int object_recover(struct server *s, const char *kind, const char *name, const json_t *o, struct err *err);

#endif
