/*
 * object.c - see object.h.
 */
#include "rules/object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/partition.h"
#include "core/reqtext.h"
#include "rules/reservation.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

const struct object_row object_table[OBJECT_KINDS] = {
	[OBJECT_PARTITION] = {"partition", "partitions", ATTR_PARTITION, .implicit = false},
	[OBJECT_CLASS] = {"class", "classes", ATTR_CLASS, .implicit = false},
	[OBJECT_RESERVATION] = {"reservation", "reservations", ATTR_RESERVATION, .implicit = true},
	[OBJECT_USER] = {"user", "users", ATTR_USER, .implicit = true, .defaults = true},
	[OBJECT_GROUP] = {"group", "groups", ATTR_GROUP, .implicit = true, .defaults = true},
	[OBJECT_ACCOUNT] = {"account", "accounts", ATTR_ACCOUNT, .defaults = true},
	[OBJECT_QOS] = {"qos", "qos", ATTR_QOS, .defaults = true},
};

void objects_fini(struct objects *o)
{
	for (int k = 0; k < OBJECT_KINDS; k++) {
		while (o->of[k].n)
			object_destroy(o, o->of[k].v[o->of[k].n - 1]);
		vec_free(&o->of[k]);
	}
}

/* Returns the index where a name is or would be inserted. */
static size_t place_of(const struct objects *o, enum object_kind kind, const char *name)
{
	size_t lo = 0, hi = o->of[kind].n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (strcmp(o->of[kind].v[mid]->name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct object *object_find(const struct objects *o, enum object_kind kind, const char *name)
{
	size_t i = place_of(o, kind, name);

	return i < o->of[kind].n && strcmp(o->of[kind].v[i]->name, name) == 0 ? o->of[kind].v[i] : NULL;
}

struct object *object_make(struct objects *o, enum object_kind kind, const char *name)
{
	struct object *x = object_find(o, kind, name);

	if (x)
		return x;
	x = mem_zalloc(sizeof *x);
	x->kind = kind;
	x->name = mem_strdup(name);
	attrs_init(&x->attrs, object_table[kind].owner);
	vec_insert(&o->of[kind], place_of(o, kind, name), x);
	return x;
}

static int name_check(enum object_kind kind, const char *name, struct err *err)
{
	bool partition = kind == OBJECT_PARTITION;
	size_t n = strlen(name);

	if (n && n <= OBJECT_NAME_MAX && !name[strspn(name, LETTERS "0123456789_.-")] &&
	    (!partition || (strchr(LETTERS, *name) && strcasecmp(name, PARTITION_WORD_ANY) != 0)))
		return 0;
	return err_set(err, -EINVAL, "%s %.80s: a name has up to %d letters, digits, '_', '.' and '-'%s",
		       object_table[kind].name, name, OBJECT_NAME_MAX,
		       partition ? ", begins with a letter, and is not \"" PARTITION_WORD_ANY "\"" : "");
}

int object_create(struct objects *o, enum object_kind kind, const char *name, struct object **ret, struct err *err)
{
	const char *what = object_table[kind].name;
	int rc = name_check(kind, name, err);

	if (rc < 0)
		return rc;
	if (object_find(o, kind, name))
		return err_code(err, CODE_BAD_STATE, "there is already %s %s %s", *what == 'a' ? "an" : "a", what,
				name);
	if (kind == OBJECT_PARTITION && o->of[kind].n >= PARTITIONS_MAX)
		return err_code(err, CODE_BAD_STATE, "there are %d partitions, which is the most there can be",
				PARTITIONS_MAX);
	*ret = object_make(o, kind, name);
	return 0;
}

void object_destroy(struct objects *o, struct object *x)
{
	vec_remove(&o->of[x->kind], place_of(o, x->kind, x->name));
	attrs_fini(&x->attrs);
	free(x->name);
	free(x);
}

size_t object_count(const struct objects *o, enum object_kind kind)
{
	return o->of[kind].n - (object_table[kind].defaults && object_find(o, kind, OBJECT_DEFAULT));
}

int64_t objects_number(const struct objects *o, enum object_kind kind, const char *name, enum attr_key key,
		       int64_t otherwise)
{
	const struct object *x = object_find(o, kind, name);

	if (!x || !attrs_is_set(&x->attrs, key))
		x = object_table[kind].defaults ? object_find(o, kind, OBJECT_DEFAULT) : NULL;
	return x && attrs_is_set(&x->attrs, key) ? attrs_number(&x->attrs, key) : otherwise;
}

/* ---- consistency ---- */

/* Attributes whose value is the name of an object. */
static const struct reference {
	enum attr_key key;
	int owners;
	enum object_kind to;
} references[] = {
	{SET_PARENT, ATTR_ACCOUNT, OBJECT_ACCOUNT},
	{SET_DEFAULT_QOS, ATTR_USER | ATTR_GROUP | ATTR_ACCOUNT, OBJECT_QOS},
	{SET_DEFAULT_ACCOUNT, ATTR_USER | ATTR_GROUP, OBJECT_ACCOUNT},
	{SET_RESERVATION, ATTR_QOS, OBJECT_RESERVATION},
};

static const char *reference_of(const struct object *x, const struct reference *r)
{
	return (int)x->attrs.owner & r->owners && attrs_is_set(&x->attrs, r->key) ? attrs_text(&x->attrs, r->key)
										  : NULL;
}

/* Checks that an account is not below itself. */
static int tree_check(const struct objects *o, const struct object *next, struct err *err)
{
	const struct object *up = next;
	const char *parent;
	int depth = 0;

	while ((parent = reference_of(up, &references[0]))) {
		if (strcmp(parent, next->name) == 0)
			return err_set(err, -EINVAL, "parent: account %.60s would be below itself", next->name);
		if (++depth > ACCOUNT_DEPTH_MAX)
			return err_set(err, -EINVAL, "parent: accounts can be at most %d levels deep",
				       ACCOUNT_DEPTH_MAX);
		up = object_find(o, OBJECT_ACCOUNT, parent);
		if (!up)
			break;
	}
	return 0;
}

bool class_runs_spmd(const char *name, const struct attrs *a)
{
	if (a && attrs_is_set(a, SET_START))
		return strcmp(attrs_text(a, SET_START), CLASS_SPMD) == 0;
	return strcasecmp(name, CLASS_SPMD) == 0;
}

/* Refuses CRIU for SPMD classes: CRIU saves one process tree, but the ranks of an SPMD job are
 * several, possibly on several hosts. */
static int class_check(const struct object *next, struct err *err)
{
	if (strcmp(attrs_text(&next->attrs, SET_METHOD), "criu") != 0 || !class_runs_spmd(next->name, &next->attrs))
		return 0;
	return err_set(
		err, -EINVAL,
		"class %.60s: method = criu does not work with start = spmd: use the method signal or script, or start = script",
		next->name);
}

int object_check(const struct objects *o, const struct object *next, struct err *err)
{
	if (next->kind == OBJECT_ACCOUNT && strcmp(next->name, OBJECT_DEFAULT) == 0 &&
	    attrs_is_set(&next->attrs, SET_COORDINATORS))
		return err_set(
			err, -EINVAL,
			"coordinators: account %s has no jobs: name them of an account, for it and those below it",
			next->name);
	for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
		const struct reference *r = &references[i];
		const char *name = reference_of(next, r);
		if (name && (!object_find(o, r->to, name) || strcmp(name, OBJECT_DEFAULT) == 0))
			return err_set(err, -EINVAL, "%s: there is no %s %.60s: create it first",
				       attr_table[r->key].name, object_table[r->to].name, name);
	}
	return next->kind == OBJECT_ACCOUNT	  ? tree_check(o, next, err)
	       : next->kind == OBJECT_CLASS	  ? class_check(next, err)
	       : next->kind == OBJECT_RESERVATION ? reservation_check(next, err)
						  : 0;
}

const struct object *object_named_by(const struct objects *o, const struct object *x)
{
	for (size_t i = 0; i < sizeof references / sizeof *references; i++)
		for (int k = 0; k < OBJECT_KINDS && references[i].to == x->kind; k++)
			for (size_t n = 0; n < o->of[k].n; n++) {
				const char *name = reference_of(o->of[k].v[n], &references[i]);
				if (name && strcmp(name, x->name) == 0)
					return o->of[k].v[n];
			}
	return NULL;
}
