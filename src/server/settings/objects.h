/*
 * objects.h - the named objects of the server (rules/object.h), as the store keeps them: each under its kind and its name, with the attributes that are set.
 */
#ifndef SERVER_SETTINGS_OBJECTS_H
#define SERVER_SETTINGS_OBJECTS_H

#include <stdint.h>

#include "rules/object.h"

struct field;
struct json_t; /* jansson.h, which can't be included beside base/json.h */
struct server;

/* Attributes of the server, a queue or an object, into the store. */
void attrs_store(struct server *s, const char *kind, const char *name, const struct attrs *a);
/* Puts a record into the store by its rows (base/codec.h). */
void record_put(struct server *s, const char *kind, const char *name, const struct field *rows, uint32_t in,
		const void *record);
void object_store(struct server *s, const struct object *x);
void object_drop(struct server *s, struct object *x); /* from the store, and for good */
/* At recovery. -ENOENT: that is not a kind of objects. */
int object_restore(struct server *s, const char *kind, const char *name, const struct json_t *o, struct err *err);

#endif
