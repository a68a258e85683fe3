/*
 * restorers.h - how the objects in the store become the server's state again: a row for each kind.
 *
 * To store another kind of object: a row in restorers.c.
 */
#ifndef SERVER_RESTORERS_H
#define SERVER_RESTORERS_H

#include <jansson.h>

struct err;
struct server;

/* Restores one object. One of a kind that is not known is a newer version's, and ignored. */
int object_recover(struct server *s, const char *kind, const char *name, const json_t *o, struct err *err);

#endif
