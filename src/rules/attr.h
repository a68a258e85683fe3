/*
 * attr.h - attributes that administrators set on the server, on queues, and on named objects
 * (object.h).
 *
 * One table lists the attributes: type, default, range and meaning. qmgr, the API, the
 * documentation and the server read the same rows. A `struct attrs` holds the values set on one
 * object; unset ones have their default, or none. Values arrive as text, as in qmgr, and are kept
 * as canonical text and, for numbers, also as a number.
 *
 * Names are case-insensitive, and other spellings used by PBS Pro and TORQUE are accepted
 * (`alias`).
 */
#ifndef RULES_ATTR_H
#define RULES_ATTR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct json;   /* base/json.h */
struct schema; /* base/schema.h */

/* Kinds of objects with attributes: bit, name. */
#define ATTR_OWNER_TABLE(X)                                                                                            \
	X(SERVER, 0, "server")                                                                                         \
	X(QUEUE, 1, "queue")                                                                                           \
	X(PARTITION, 2, "partition")                                                                                   \
	X(CLASS, 3, "class")                                                                                           \
	X(USER, 4, "user")                                                                                             \
	X(GROUP, 5, "group")                                                                                           \
	X(ACCOUNT, 6, "account")                                                                                       \
	X(QOS, 7, "qos")                                                                                               \
	X(RESERVATION, 8, "reservation")

enum attr_owner {
#define ATTR_OWNER_ENUM(NAME, bit, name) ATTR_##NAME = 1 << bit,
	ATTR_OWNER_TABLE(ATTR_OWNER_ENUM)
#undef ATTR_OWNER_ENUM
		ATTR_OWNERS = 512 /* one bit beyond the last */
};

enum attr_type {
	ATTR_BOOL,
	ATTR_NUMBER,
	ATTR_DURATION, /* any form of a duration; kept and shown as seconds */
	ATTR_MEMORY,   /* with a unit; the number is KiB */
	ATTR_TEXT,     /* one line */
	ATTR_WORD,     /* one of `words` */
	ATTR_POLICY,   /* name of a policy; the scheduler checks that it exists */
	ATTR_LIST,     /* user@host, groups, queues, joined by ',' */
	ATTR_HOSTS,    /* like ATTR_LIST, for hosts: lower case */
	ATTR_NODES,    /* like ATTR_LIST, for nodes: n[1-8] stands for eight */
	ATTR_HOURS,    /* hours of the week: base/hours.h */
	ATTR_TIME,     /* an instant; the number is seconds since 1970 UTC, the text UTC */
	ATTR_AMOUNTS,  /* NAME.RESOURCE: each resource has its own value */
	ATTR_WEIGHTS,  /* NAME.WORD: each of `words` has its own number */
};

/* Rows of the table, in its order. */
enum attr_key {
#define ROW(KEY, ...) SET_##KEY,
#include "rules/attr_rows.h"
#undef ROW
	ATTR_ROWS
};

struct attr {
	const char *name;
	int owner;	    /* enum attr_owner, one or more */
	enum attr_key also; /* next row of this name, for other owners; 0: none */
	enum attr_type type;
	/* default as text; for amounts "walltime=01:00:00", for weights "queue_time=1"; NULL:
	 * none */
	const char *initial;
	int64_t min, max; /* range of numbers and durations */
	/* ATTR_WORD: allowed words, separated by blanks, also as abbreviations. ATTR_WEIGHTS: words
	 * allowed after the dot */
	const char *words;
	const char *alias; /* other names, separated by blanks, or NULL */
	const char *about; /* one sentence of documentation */
};

extern const struct attr attr_table[ATTR_ROWS];

const char *attr_type_name(enum attr_type type); /* "bool", "number", ... */
/* Returns the name of a single owner: "server", "queue", ... */
const char *attr_owner_name(enum attr_owner owner);
/* Returns the row for a name or alias ("resources_max.walltime" finds resources_max), or NULL if
 * that kind of object has none. */
const struct attr *attr_find(enum attr_owner owner, const char *name);
/* Returns true if `attr` is a row with the key's name. */
bool attr_is(const struct attr *attr, enum attr_key key);

struct attr_value {
	const struct attr *attr;
	char *resource; /* amounts only: "walltime"; else NULL */
	char *text;	/* canonical; lists joined by ',' without blanks; bools "True", "False" */
	int64_t number; /* 0 or 1, a number, seconds, KiB; 0 for texts and lists */
};

struct attrs {
	enum attr_owner owner;
	VEC(struct attr_value) set; /* in table order, resources by name */
};

void attrs_init(struct attrs *a, enum attr_owner owner);
void attrs_fini(struct attrs *a);
void attrs_copy(struct attrs *a, const struct attrs *from); /* `a` is overwritten */

enum attr_op { ATTR_SET, ATTR_ADD, ATTR_REMOVE, ATTR_UNSET };
int attr_op_parse(const char *text, enum attr_op *ret, struct err *err); /* "set", "add", "remove", "unset" */

/* Applies one change. ADD and REMOVE work on lists (elements) and on numbers and amounts
 * (arithmetic). UNSET ignores `value`; without a resource it drops all resources of an amounts
 * attribute. -ENOENT: no such attribute; -EINVAL: bad value; either way `err` has a message and
 * `a` is unchanged. */
int attrs_change(struct attrs *a, enum attr_op op, const char *name, const char *value, struct err *err);

/* Effective values: the one set, else the default. That kind of object must have the attribute;
 * anything else is a broken invariant. */
bool attrs_is_set(const struct attrs *a, enum attr_key key); /* for amounts: any resource is set */
bool attrs_bool(const struct attrs *a, enum attr_key key);   /* false if neither set nor defaulted */
/* Returns -1 if neither set nor defaulted; durations in seconds. */
int64_t attrs_number(const struct attrs *a, enum attr_key key);
/* Returns NULL if neither set nor defaulted; the text is borrowed. */
const char *attrs_text(const struct attrs *a, enum attr_key key);
/* Returns a number from resources_max, resources_min (ncpus, nodect, ngpus, mem in KiB, walltime
 * and cput in seconds, named ones) or, where the value is a number, resources_default; -1 if
 * there is none. */
int64_t attrs_amount(const struct attrs *a, enum attr_key key, const char *resource);
/* Returns the weight of a word, or `otherwise` if there is none. */
int64_t attrs_weight(const struct attrs *a, enum attr_key key, const char *word, int64_t otherwise);
/* Returns true if a list admits `name`. The first matching element decides; one that starts with
 * '-' excludes. '*' in an element matches anything. "user@host" must match both; without
 * "@host", or with `host` NULL, only the name is compared. */
bool attrs_list_has(const struct attrs *a, enum attr_key list, const char *name, const char *host);

/* Appends the name as qmgr prints it: "resources_max.walltime". */
void attr_value_name(const struct attr_value *v, struct strbuf *out);

/* Writes members of the open object: bools and numbers as such, everything else as text. */
void attrs_write(const struct attrs *a, struct json *j);
void attrs_write_defaults(enum attr_owner owner, struct json *j);
extern const struct schema attribute_schema; /* schema of a row of the table */
/* Writes the whole table as elements of an open array, for GET /v1/attributes. */
void attr_table_write(struct json *j);

#endif
