/*
 * object.h - what administrators define by name: partitions, program classes, reservations, users, groups, accounts and qualities of service.
 *
 * Each kind is a row of one table: its name, and whose attributes (attr.h) its objects have. The server, the simulator, the API and qmgr go by the same rows; an
 * object is its name with the attributes that are set. Nothing here knows jobs: what follows from an object is for those to say who ask for it.
 *
 * Users and groups exist outside: an object only says something of one. Of users, groups, accounts and QoS the object "default" has the values that hold for those
 * that do not set them (objects_number()).
 */
#ifndef RULES_OBJECT_H
#define RULES_OBJECT_H

#include "base/vec.h"
#include "rules/attr.h"

#define OBJECT_NAME_MAX 64	 /* characters */
#define OBJECT_DEFAULT "default" /* whose values hold for the others */
#define ACCOUNT_DEPTH_MAX 8	 /* accounts above an account */

/* In this order they can be created anew: objects name only others of their own kind or of those before it. */
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
	bool implicit; /* what it is about exists anyway: to set an attribute is to create it */
	bool defaults; /* "default" is not one of them */
};
extern const struct object_row object_table[OBJECT_KINDS];

struct object {
	enum object_kind kind;
	char *name;
	struct attrs attrs;
	bool fixed; /* it is in the configuration file, and stays */
};

/* It owns them. */
struct objects {
	VEC(struct object *) of[OBJECT_KINDS]; /* by name */
};

void objects_fini(struct objects *o);
struct object *object_find(const struct objects *o, enum object_kind kind, const char *name); /* NULL: there is none */
/* A new one. -EINVAL: its name; error code BAD_STATE: there is one already. */
int object_create(struct objects *o, enum object_kind kind, const char *name, struct object **ret, struct err *err);
struct object *object_make(struct objects *o, enum object_kind kind, const char *name); /* found, or made unchecked */
void object_destroy(struct objects *o, struct object *x);
/* The kind of a name or of a plural; false: there is none. */
bool object_kind_find(const char *word, enum object_kind *ret);
/* How many there are, but for "default". */
size_t object_count(const struct objects *o, enum object_kind kind);

/* A number that holds for NAME: its own, else that of "default"; `otherwise` if neither is set. */
int64_t objects_number(const struct objects *o, enum object_kind kind, const char *name, const char *attr,
		       int64_t otherwise);

#define CLASS_SPMD "spmd" /* a class that is there without being made */

/* Whether a class (a: its attributes; NULL: it was not made) runs its script once for each processor. */
bool class_runs_spmd(const char *name, const struct attrs *a);

/* Whether `next`, which an object is to become, goes together with the others: names in it exist, accounts are a tree, and a class can save what it
 * starts. -EINVAL. */
int object_check(const struct objects *o, const struct object *next, struct err *err);
/* An object that names this one; NULL: none does, it may be removed. */
const struct object *object_named_by(const struct objects *o, const struct object *x);

#endif
