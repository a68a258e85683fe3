/* objects.h - stores the server's named objects (rules/object.h): each under its kind and name,
 * with the attributes that are set. */
#ifndef SERVER_SETTINGS_OBJECTS_H
#define SERVER_SETTINGS_OBJECTS_H

#include <stdint.h>

#include "rules/object.h"

struct field;
struct json_t; /* from jansson.h, which cannot be included together with base/json.h */
struct server;

/* Stores the attributes of the server, a queue or an object. */
void attrs_store(struct server *s, const char *kind, const char *name, const struct attrs *a);
/* Stores a record by its rows (base/codec.h). */
void record_put(struct server *s, const char *kind, const char *name, const struct field *rows, uint32_t in,
		const void *record);
void object_store(struct server *s, const struct object *x);
void object_drop(struct server *s, struct object *x); /* removes it from the store and frees it */
/* Restores an object at recovery. -ENOENT: not a kind of object. */
int object_restore(struct server *s, const char *kind, const char *name, const struct json_t *o, struct err *err);

#endif
