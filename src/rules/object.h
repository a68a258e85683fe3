/*
 * object.h - objects that administrators define by name: partitions, program classes, reservations,
 * users, groups, accounts and qualities of service.
 *
 * Each kind is a row of one table: its name and its set of attributes (attr.h). The server, the
 * simulator, the API and qmgr use the same rows. An object is a name with attributes. Nothing here
 * knows jobs; the callers apply the objects to them.
 *
 * Users and groups exist independently; an object only adds settings. The object "default" of
 * users, groups, accounts and QoS supplies the values for those that do not set them
 * (objects_number()).
 */
#ifndef RULES_OBJECT_H
#define RULES_OBJECT_H

#include "base/vec.h"
#include "rules/attr.h"

#define OBJECT_NAME_MAX 64	 /* characters */
#define OBJECT_DEFAULT "default" /* object whose values apply to the others */
#define ACCOUNT_DEPTH_MAX 8	 /* maximum accounts above an account */

/* Objects refer only to their own kind and to kinds before it, so they can be recreated in this
 * order. */
enum object_kind {
	OBJECT_PARTITION,
	OBJECT_CLASS,
	OBJECT_RESERVATION,
	OBJECT_QOS,
	OBJECT_ACCOUNT,
	OBJECT_GROUP,
	OBJECT_USER,
	OBJECT_KINDS
};

struct object_row {
	const char *name, *plural;
	enum attr_owner owner;
	bool implicit; /* its subject exists anyway: setting an attribute creates the object */
	bool defaults; /* "default" supplies values and is not counted as an object */
};
extern const struct object_row object_table[OBJECT_KINDS];

struct object {
	enum object_kind kind;
	char *name;
	struct attrs attrs;
	bool fixed; /* defined in the configuration file; cannot be removed */
};

/* Owns the objects. */
struct objects {
	VEC(struct object *) of[OBJECT_KINDS]; /* sorted by name */
};

void objects_fini(struct objects *o);
/* Returns an object, or NULL. */
struct object *object_find(const struct objects *o, enum object_kind kind, const char *name);
/* Creates an object. -EINVAL: bad name; error code BAD_STATE: it exists already. */
int object_create(struct objects *o, enum object_kind kind, const char *name, struct object **ret, struct err *err);
/* Finds an object, or creates it without checks. */
struct object *object_make(struct objects *o, enum object_kind kind, const char *name);
void object_destroy(struct objects *o, struct object *x);
/* Returns the number of objects of a kind, without "default". */
size_t object_count(const struct objects *o, enum object_kind kind);

/* Returns the number that applies to NAME: its own, else that of "default", else `otherwise`. */
int64_t objects_number(const struct objects *o, enum object_kind kind, const char *name, enum attr_key key,
		       int64_t otherwise);

#define CLASS_SPMD "spmd" /* built-in class, which need not be defined */

/* Returns true if a class (a: its attributes; NULL: undefined) runs its script once per
 * processor. */
bool class_runs_spmd(const char *name, const struct attrs *a);

/* Checks that `next`, the new state of an object, is consistent with the others: names in it
 * exist, accounts form a tree, and a class can save what it starts. -EINVAL. */
int object_check(const struct objects *o, const struct object *next, struct err *err);
/* Returns an object that refers to this one, or NULL if it may be removed. */
const struct object *object_named_by(const struct objects *o, const struct object *x);

#endif
