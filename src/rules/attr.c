/*
 * attr.c - changes, queries and writes sets of attributes.
 */
#include "rules/attr.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/suggest.h"
#include "rules/attr_internal.h"

void attrs_init(struct attrs *a, enum attr_owner owner)
{
	*a = (struct attrs){.owner = owner};
}

static void value_fini(struct attr_value *v)
{
	free(v->resource);
	free(v->text);
}

void attrs_fini(struct attrs *a)
{
	for (size_t i = 0; i < a->set.n; i++)
		value_fini(&a->set.v[i]);
	vec_free(&a->set);
}

void attrs_copy(struct attrs *a, const struct attrs *from)
{
	attrs_init(a, from->owner);
	for (size_t i = 0; i < from->set.n; i++) {
		struct attr_value v = from->set.v[i];
		v.resource = v.resource ? mem_strdup(v.resource) : NULL;
		v.text = mem_strdup(v.text);
		vec_push(&a->set, v);
	}
}

/* ---- positions ---- */

static int value_compare(const struct attr_value *v, const struct attr *attr, const char *resource)
{
	if (v->attr != attr)
		return v->attr < attr ? -1 : 1;
	return resource ? strcmp(v->resource, resource) : 0;
}

/* Returns the index where the value is or would be inserted. Without a resource it finds the
 * first value of an amounts attribute. */
static size_t value_place(const struct attrs *a, const struct attr *attr, const char *resource)
{
	size_t i = 0;

	while (i < a->set.n && value_compare(&a->set.v[i], attr, resource) < 0)
		i++;
	return i;
}

static struct attr_value *value_find(const struct attrs *a, const struct attr *attr, const char *resource)
{
	size_t i = value_place(a, attr, resource);

	return i < a->set.n && value_compare(&a->set.v[i], attr, resource) == 0 ? &a->set.v[i] : NULL;
}

static void value_drop(struct attrs *a, const struct attr *attr, const char *resource)
{
	struct attr_value *v;

	while ((v = value_find(a, attr, resource))) {
		value_fini(v);
		vec_remove(&a->set, (size_t)(v - a->set.v));
	}
}

/* ---- changes ---- */

int attr_op_parse(const char *text, enum attr_op *ret, struct err *err)
{
	static const char *const name[] = {"set", "add", "remove", "unset"};

	for (int i = 0; i < 4; i++)
		if (strcmp(text, name[i]) == 0) {
			*ret = i;
			return 0;
		}
	return err_set(err, -EINVAL, "\"%.40s\": op must be set, add, remove or unset", text);
}

static int name_unknown(const struct attrs *a, const char *name, struct err *err)
{
	const char *own = attr_owner_name(a->owner);
	const struct attr *other = attr_find(a->owner == ATTR_SERVER ? ATTR_QUEUE : ATTR_SERVER, name);
	struct strbuf words = {0};
	char near[SUGGEST_SIZE], what[32];

	snprintf(what, sizeof what, "%s %s", a->owner == ATTR_SERVER ? "the" : *own == 'a' ? "an" : "a", own);
	for (int i = 0; i < ATTR_ROWS; i++)
		if (attr_table[i].owner & a->owner)
			strbuf_printf(&words, "%s ", attr_table[i].name);
	if (other)
		err_code(err, CODE_UNKNOWN_ATTRIBUTE, "%s has no attribute %s; that is one of %s", what, other->name,
			 a->owner == ATTR_SERVER ? "queues" : "the server");
	else if (suggest_word(name, words.text, near))
		err_code(err, CODE_UNKNOWN_ATTRIBUTE, "%s has no attribute \"%.60s\"; did you mean %s?", what, name,
			 near);
	else
		err_code(err, CODE_UNKNOWN_ATTRIBUTE,
			 "%s has no attribute \"%.60s\"; \"qmgr -c 'help attributes'\" lists them", what, name);
	strbuf_fini(&words);
	return -ENOENT;
}

/* Extracts the part behind the dot. *ret is NULL if there is none, which is allowed only for
 * UNSET of amounts. */
static int resource_of(const struct attr *attr, enum attr_op op, const char *name, char **ret, struct err *err)
{
	const char *dot = strchr(name, '.');

	*ret = NULL;
	if (!attr_is_dotted(attr) || (!dot && op == ATTR_UNSET))
		return 0;
	*ret = attr_resource(attr, dot ? dot + 1 : "", err);
	return *ret ? 0 : -EINVAL;
}

int attrs_change(struct attrs *a, enum attr_op op, const char *name, const char *value, struct err *err)
{
	const struct attr *attr = attr_find(a->owner, name);
	char *resource;

	if (!attr)
		return name_unknown(a, name, err);
	int rc = resource_of(attr, op, name, &resource, err);
	if (rc < 0)
		return err_prefix(err, rc, "%.60s", name);

	struct attr_value v = {.attr = attr, .resource = resource};
	if (op != ATTR_UNSET)
		rc = attr_value_make(&v, value_find(a, attr, resource), op, value ? value : "", err);
	if (rc == 0)
		value_drop(a, attr, resource);
	if (rc == 0 && v.text)
		vec_insert(&a->set, value_place(a, attr, resource), v);
	else
		value_fini(&v);
	return rc < 0 ? err_prefix(err, rc, "%.60s", name) : 0;
}

/* ---- queries ---- */

/* Returns the row of a key for this kind of object. */
static const struct attr *row(const struct attrs *a, enum attr_key key)
{
	while (!(attr_table[key].owner & a->owner)) {
		key = attr_table[key].also;
		assert(key && "an attribute of this kind of object");
	}
	return &attr_table[key];
}

/* Makes a value from the default, which the caller frees. Returns false if there is none. */
static bool default_make(const struct attr *attr, const char *resource, struct attr_value *ret)
{
	const char *text = attr->initial;

	*ret = (struct attr_value){.attr = attr};
	if (text && resource) {
		size_t n = strlen(resource);
		text = strncmp(text, resource, n) == 0 && text[n] == '=' ? text + n + 1 : NULL;
	}
	if (!text)
		return false;
	ret->resource = resource ? mem_strdup(resource) : NULL;
	int rc = attr_value_make(ret, NULL, ATTR_SET, text, NULL);
	assert(rc == 0 && "a default of the table is wrong");
	return true;
}

static int64_t effective_number(const struct attrs *a, const struct attr *attr, const char *resource, int64_t otherwise)
{
	struct attr_value *v = value_find(a, attr, resource), initial;

	if (v)
		return v->number;
	if (attr->initial && attr->type == ATTR_BOOL)
		return attr->initial[0] == 'T';
	if (attr->initial && attr->words && strcmp(attr->initial, attr->words) == 0)
		return -1; /* an unlimited duration */
	/* memory has a unit */
	if (attr->initial && !attr_is_dotted(attr) && attr->type != ATTR_MEMORY)
		return strtoll(attr->initial, NULL, 10);
	if (!default_make(attr, resource, &initial))
		return otherwise;
	otherwise = initial.number;
	value_fini(&initial);
	return otherwise;
}

bool attrs_is_set(const struct attrs *a, enum attr_key key)
{
	return value_find(a, row(a, key), NULL) != NULL;
}

bool attrs_bool(const struct attrs *a, enum attr_key key)
{
	return effective_number(a, row(a, key), NULL, 0) != 0;
}

int64_t attrs_number(const struct attrs *a, enum attr_key key)
{
	return effective_number(a, row(a, key), NULL, -1);
}

const char *attrs_text(const struct attrs *a, enum attr_key key)
{
	const struct attr *attr = row(a, key);
	const struct attr_value *v = value_find(a, attr, NULL);

	return v ? v->text : attr->initial;
}

int64_t attrs_amount(const struct attrs *a, enum attr_key key, const char *resource)
{
	return effective_number(a, row(a, key), resource, -1);
}

int64_t attrs_weight(const struct attrs *a, enum attr_key key, const char *word, int64_t otherwise)
{
	return effective_number(a, row(a, key), word, otherwise);
}

/* Matches "user@host" or "user" against a name and a host. */
static bool element_matches(const char *element, size_t n, const char *name, const char *host)
{
	char pattern[256];

	if (n >= sizeof pattern)
		return false;
	memcpy(pattern, element, n);
	pattern[n] = '\0';
	char *at = strchr(pattern, '@');
	if (at)
		*at++ = '\0';
	return fnmatch(pattern, name, 0) == 0 && (!at || !host || fnmatch(at, host, FNM_CASEFOLD) == 0);
}

bool attrs_list_has(const struct attrs *a, enum attr_key list, const char *name, const char *host)
{
	for (const char *p = attrs_text(a, list); p && *p; p += *p == ',') {
		size_t n = strcspn(p, ",");
		bool against = *p == '-';
		if (element_matches(p + against, n - against, name, host))
			return !against;
		p += n;
	}
	return false;
}

/* ---- JSON ---- */

void attr_value_name(const struct attr_value *v, struct strbuf *out)
{
	strbuf_puts(out, v->attr->name);
	if (v->resource)
		strbuf_printf(out, ".%s", v->resource);
}

static void set_value_write(const struct attr_value *v, struct json *j)
{
	struct strbuf name = {0};

	attr_value_name(v, &name);
	if (v->attr->type == ATTR_BOOL)
		json_bool(j, name.text, v->number != 0);
	else if (v->attr->type == ATTR_NUMBER || v->attr->type == ATTR_WEIGHTS ||
		 (v->attr->type == ATTR_DURATION && !(v->attr->words && v->number < 0)))
		json_int(j, name.text, v->number);
	else
		json_text(j, name.text, v->text);
	strbuf_fini(&name);
}

void attrs_write(const struct attrs *a, struct json *j)
{
	for (size_t i = 0; i < a->set.n; i++)
		set_value_write(&a->set.v[i], j);
}

void attrs_write_defaults(enum attr_owner owner, struct json *j)
{
	for (const struct attr *attr = attr_table; attr < attr_table + ATTR_ROWS; attr++) {
		struct attr_value v;
		char *resource = NULL;
		if (!(attr->owner & owner) || !attr->initial)
			continue;
		if (attr_is_dotted(attr))
			resource = strndup(attr->initial, strcspn(attr->initial, "="));
		if (default_make(attr, resource, &v)) {
			set_value_write(&v, j);
			value_fini(&v);
		}
		free(resource);
	}
}

/* A row of the table, as the subject of the schema's getters. */
struct subject {
	struct attr attr;
};

static void owners_inside(const struct subject *x, struct json *j)
{
	for (int owner = 1; owner < ATTR_OWNERS; owner *= 2)
		if (x->attr.owner & owner)
			json_text(j, NULL, attr_owner_name((enum attr_owner)owner));
}

static void get_type(const struct subject *x, struct value *v)
{
	v->kind = VALUE_TEXT;
	v->text = attr_type_name(x->attr.type);
}

static void bound_get(const struct subject *x, int64_t bound, struct value *v)
{
	enum attr_type type = x->attr.type;

	v->number = bound;
	if (type == ATTR_NUMBER || type == ATTR_DURATION || type == ATTR_WEIGHTS)
		v->kind = VALUE_INT;
}

static void get_min(const struct subject *x, struct value *v)
{
	bound_get(x, x->attr.min, v);
}

static void get_max(const struct subject *x, struct value *v)
{
	bound_get(x, x->attr.max, v);
}

#define OWNER_WORD(NAME, bit, name) "|" name
static const char owner_words[] = ATTR_OWNER_TABLE(OWNER_WORD);
#undef OWNER_WORD

const struct schema attribute_schema = {
	FIELDS({"name", .is = REQUIRED | IS_TEXT, MEMBER(struct attr, name)},
	       {"of", .is = REQUIRED | IS_LIST, .item = IS_TEXT, .words = &owner_words[1], .inside = owners_inside},
	       {"type", .is = REQUIRED | IS_TEXT, .get = get_type},
	       {"default", .is = REQUIRED | IS_TEXT | IS_NULL, MEMBER(struct attr, initial)},
	       {"words", .is = IS_TEXT, "the words it may be", MEMBER(struct attr, words)},
	       {"min", .is = IS_INT, .get = get_min}, {"max", .is = IS_INT, .get = get_max},
	       {"about", .is = REQUIRED | IS_TEXT, MEMBER(struct attr, about)})};

void attr_table_write(struct json *j)
{
	for (const struct attr *attr = attr_table; attr < attr_table + ATTR_ROWS; attr++)
		schema_show(&attribute_schema, NULL, attr, NULL, j);
}
