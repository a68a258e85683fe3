/*
 * attr.h - what administrators set of the server, of queues, and of named objects (object.h).
 *
 * One table says which attributes there are: their type, default, range, and what they mean. qmgr, the API, the
 * documentation and the server read the same rows. A `struct attrs` is what is set of one object; what is not set has
 * its default, or none. Values come as texts, as qmgr has them, and are kept both as canonical text and, where they
 * are numbers, as numbers.
 *
 * Names are compared without regard to case, and other spellings of PBS Pro and TORQUE are accepted (`alias`).
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

/* Kinds of objects that have attributes: bit, name. */
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
		ATTR_OWNERS = 512 /* beyond the last */
};

enum attr_type {
	ATTR_BOOL,
	ATTR_NUMBER,
	ATTR_DURATION, /* any form of a duration; kept and shown as seconds */
	ATTR_MEMORY,   /* with a unit; the number is KiB */
	ATTR_TEXT,     /* a line */
	ATTR_WORD,     /* one of `words` */
	ATTR_POLICY,   /* the name of a policy; whether there is one, the scheduler knows */
	ATTR_LIST,     /* user@host, groups, queues, joined by ',' */
	ATTR_HOSTS,    /* the same, of hosts: small letters */
	ATTR_NODES,    /* the same, of nodes: n[1-8] are eight */
	ATTR_HOURS,    /* of the week: base/hours.h */
	ATTR_TIME,     /* an instant; the number is seconds since 1970 UTC, the text UTC */
	ATTR_AMOUNTS,  /* NAME.RESOURCE: each resource has a value of its own */
	ATTR_WEIGHTS,  /* NAME.WORD: each of `words` has a number of its own */
};

struct attr {
	const char *name;
	int owner; /* enum attr_owner, either or both */
	enum attr_type type;
	const char *
		initial; /* the default as text; of amounts "walltime=01:00:00", of weights "queue_time=1"; NULL: none */
	int64_t min, max; /* of numbers and durations */
	const char *
		words; /* of ATTR_WORD, separated by blanks; also what they may be cut to; of ATTR_WEIGHTS what may stand behind the dot */
	const char *alias; /* other names, separated by blanks, or NULL */
	const char *about; /* a sentence */
};

extern const struct attr attr_table[];
extern const int nattrs;

const char *attr_type_name(enum attr_type type);    /* "bool", "number", ... */
const char *attr_owner_name(enum attr_owner owner); /* of one: "server", "queue", ... */
/* The row of a name or alias ("resources_max.walltime" finds resources_max); NULL if that kind of object has none. */
const struct attr *attr_find(enum attr_owner owner, const char *name);

struct attr_value {
	const struct attr *attr;
	char *resource; /* of amounts: "walltime"; else NULL */
	char *text;	/* canonical; lists joined by ',' without blanks; bools "True", "False" */
	int64_t number; /* 0 or 1, a number, seconds, KiB; of texts and lists 0 */
};

struct attrs {
	enum attr_owner owner;
	VEC(struct attr_value) set; /* in the order of the table, resources by name */
};

void attrs_init(struct attrs *a, enum attr_owner owner);
void attrs_fini(struct attrs *a);
void attrs_copy(struct attrs *a, const struct attrs *from); /* `a` is overwritten */

enum attr_op { ATTR_SET, ATTR_ADD, ATTR_REMOVE, ATTR_UNSET };
int attr_op_parse(const char *text, enum attr_op *ret, struct err *err); /* "set", "add", "remove", "unset" */

/* One change. ADD and REMOVE are for lists (their elements) and for numbers and amounts (arithmetic). -ENOENT: no
 * such attribute; -EINVAL: the value; both with a sentence, and `a` is as it was. `value` is ignored by UNSET; UNSET
 * of amounts without a resource drops all of them. */
int attrs_change(struct attrs *a, enum attr_op op, const char *name, const char *value, struct err *err);

/* What holds: the value that is set, else the default. Names must be in the table: others are a broken invariant. */
bool attrs_is_set(const struct attrs *a, const char *name);	 /* of amounts: any resource */
bool attrs_bool(const struct attrs *a, const char *name);	 /* false if there is neither */
int64_t attrs_number(const struct attrs *a, const char *name);	 /* -1 if there is neither; durations in seconds */
const char *attrs_text(const struct attrs *a, const char *name); /* NULL if there is neither; borrowed */
/* Of resources_max, resources_min (ncpus, nodect, ngpus, mem in KiB, walltime and cput in seconds, named ones) and of
 * resources_default where the value is a number; -1 if there is none. */
int64_t attrs_amount(const struct attrs *a, const char *name, const char *resource);
/* Of weights; `otherwise` if there is none. */
int64_t attrs_weight(const struct attrs *a, const char *name, const char *word, int64_t otherwise);
/* Whether a list lets `name` in: the first element that matches decides, one that begins with '-' against. '*' in an
 * element stands for anything. "user@host" is compared with both; without "@host", or with `host` NULL, the name
 * alone is. */
bool attrs_list_has(const struct attrs *a, const char *list, const char *name, const char *host);

/* "resources_max.walltime": the name as qmgr prints it. */
void attr_value_name(const struct attr_value *v, struct strbuf *out);

/* Members of the open object: bools and numbers as such, all else as text. */
void attrs_write(const struct attrs *a, struct json *j);
void attrs_write_defaults(enum attr_owner owner, struct json *j);
extern const struct schema attribute_schema; /* a row of the table */
void attr_table_write(struct json *j);	     /* an array's elements: the whole table, for GET /v1/attributes */

#endif
