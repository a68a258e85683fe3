/*
 * schema.c - checks values against their tables.
 */
#include "base/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/suggest.h"

#define DIGITS_MOST 18 /* digits of a number that always fits */
#define SHOWN 60       /* characters of a name in a message */
#define LISTED 160     /* characters of all names in a message */

static bool is_bounded(const struct field *f)
{
	return f->least || f->most;
}

static bool is_word(const char *words, const char *text)
{
	size_t n = strlen(text);

	for (const char *p = words; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
		if (strcspn(p, "|") == n && strncmp(p, text, n) == 0)
			return true;
	return false;
}

static bool is_kind(unsigned is, const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_STRING:
		return is & (IS_TEXT | IS_BYTES);
	case JSON_INTEGER:
		return is & (IS_INT | IS_INSTANT | IS_REAL);
	case JSON_REAL:
		return is & IS_REAL;
	case JSON_TRUE:
	case JSON_FALSE:
		return is & IS_BOOL;
	case JSON_ARRAY:
		return is & IS_LIST;
	case JSON_OBJECT:
		return is & IS_OBJECT;
	default:
		return false;
	}
}

/* Appends "a text or a whole number" and the like. */
static void kinds_write(unsigned is, struct strbuf *out)
{
	static const struct {
		unsigned is;
		const char *text;
	} kinds[] = {
		{IS_TEXT, "a text"},   {IS_BYTES, "a text"},	   {IS_INT, "a whole number"},
		{IS_REAL, "a number"}, {IS_BOOL, "true or false"}, {IS_INSTANT, "an instant"},
		{IS_LIST, "an array"}, {IS_OBJECT, "an object"},
	};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (is & kinds[i].is)
			strbuf_printf(out, "%s%s", out->n ? " or " : "", kinds[i].text);
}

static int kind_refuse(const char *name, unsigned is, struct err *err)
{
	struct strbuf kinds = {0};
	int rc;

	kinds_write(is, &kinds);
	rc = err_set(err, -EINVAL, "%s must be %s", name, strbuf_text(&kinds));
	strbuf_fini(&kinds);
	return rc;
}

static int bounds_check(const struct field *f, int64_t n, const char *what, const char *unit, struct err *err)
{
	if (!is_bounded(f) || (n >= f->least && n <= f->most))
		return 0;
	return err_set(err, -EINVAL, "%s must be %s %lld to %lld%s", f->name, what, (long long)f->least,
		       (long long)f->most, unit);
}

static int text_check(const struct field *f, const json_t *v, struct err *err)
{
	const char *text = json_string_value(v);
	size_t n = json_string_length(v);

	if (strlen(text) != n)
		return err_set(err, -EINVAL, "%s must not have a NUL in it", f->name);
	if (f->words && !is_word(f->words, text))
		return err_set(err, -EINVAL, "%s must be one of %s, not \"%.40s\"", f->name, f->words, text);
	return bounds_check(f, (int64_t)n, "a text of", " bytes", err);
}

static int list_check(const struct field *f, const json_t *list, struct err *err)
{
	int rc = bounds_check(f, (int64_t)json_array_size(list), "an array of", " elements", err);
	const json_t *v;
	size_t i;

	json_array_foreach(list, i, v)
	{
		if (rc < 0)
			return rc;
		if (f->item != IS_ANY && !is_kind(f->item, v))
			rc = kind_refuse("each", f->item, err);
		else if (f->of && json_is_object(v))
			rc = schema_check(f->of, v, err);
		if (rc < 0)
			err_prefix(err, rc, "%s[%zu]", f->name, i);
	}
	return rc;
}

static int field_check(const struct field *f, const json_t *v, struct err *err)
{
	int rc;

	if (v && json_is_null(v) && f->is & IS_NULL)
		return 0;
	if (!v || (json_is_null(v) && f->is & REQUIRED))
		return f->is & REQUIRED ? err_set(err, -EINVAL, "%s is missing", f->name) : 0;
	if (f->is != IS_ANY && !is_kind(f->is, v))
		return kind_refuse(f->name, f->is, err);
	switch (json_typeof(v)) {
	case JSON_STRING:
		return text_check(f, v, err);
	case JSON_INTEGER:
		return bounds_check(f, json_integer_value(v), "a whole number from", "", err);
	case JSON_ARRAY:
		return list_check(f, v, err);
	case JSON_OBJECT:
		rc = f->of ? schema_check(f->of, v, err) : 0;
		return rc < 0 ? err_prefix(err, rc, "%s", f->name) : 0;
	default:
		return 0;
	}
}

const struct field *schema_next(const struct schema *t, const struct field *f)
{
	for (f = f ? f + 1 : t->fields; f && f->name; f++)
		if ((!t->in || f->in & t->in) && !(f->in & t->without))
			return f;
	return NULL;
}

/* Returns true if the schema or one that it is based on has the member. */
static bool has_name(const struct schema *t, const char *name)
{
	for (; t; t = t->base)
		for (const struct field *f = schema_next(t, NULL); f; f = schema_next(t, f))
			if (strcmp(f->name, name) == 0)
				return true;
	return false;
}

int schema_refuse_name(const struct schema *t, const char *name, struct err *err)
{
	struct strbuf all = {0};
	char near[SUGGEST_SIZE];

	for (; t; t = t->base)
		for (const struct field *f = schema_next(t, NULL); f; f = schema_next(t, f))
			strbuf_printf(&all, "%s%s", all.n ? " " : "", f->name);
	if (suggest_word(name, strbuf_text(&all), near))
		err_set(err, -EINVAL, "unknown member \"%.*s\"; did you mean %s?", SHOWN, name, near);
	else if (all.n <= LISTED)
		err_set(err, -EINVAL, "unknown member \"%.*s\"; known: %s", SHOWN, name, strbuf_text(&all));
	else
		err_set(err, -EINVAL, "unknown member \"%.*s\"; GET /openapi.json lists the known ones", SHOWN, name);
	strbuf_fini(&all);
	return -EINVAL;
}

int schema_check_names(const struct schema *t, const json_t *v, struct err *err)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)v, name, value) if (!has_name(t, name)) return schema_refuse_name(t, name, err);
	return 0;
}

/* Returns true if any name may come, or names are checked by the reader of the members. */
static bool takes_any(const struct schema *t)
{
	return t && (t->late || t->open || takes_any(t->base));
}

static int members_check(const struct schema *t, const json_t *v, struct err *err)
{
	int rc = t->base ? members_check(t->base, v, err) : 0;

	for (const struct field *f = t->late ? NULL : schema_next(t, NULL); rc == 0 && f; f = schema_next(t, f))
		rc = field_check(f, json_object_get(v, f->name), err);
	return rc;
}

static int object_check(const struct schema *t, const json_t *v, struct err *err)
{
	int rc = takes_any(t) ? 0 : schema_check_names(t, v, err);

	return rc < 0 ? rc : members_check(t, v, err);
}

int schema_check(const struct schema *t, const json_t *v, struct err *err)
{
	if (!json_is_object(v))
		return t->late && !t->base ? 0 : err_set(err, -EINVAL, "it must be a JSON object");
	return object_check(t, v, err) < 0 && (!t->either || object_check(t->either, v, err) < 0) ? -EINVAL : 0;
}

static bool is_number(const struct field *f, const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n > 0 && n <= DIGITS_MOST && !text[n] && strtoll(text, NULL, 10) >= f->least &&
	       (!is_bounded(f) || strtoll(text, NULL, 10) <= f->most);
}

int field_check_text(const struct field *f, const char *text, struct err *err)
{
	if (f->words && !is_word(f->words, text))
		return err_set(err, -EINVAL, "%s=%.40s: it must be one of %s", f->name, text, f->words);
	if (f->is & IS_TEXT && is_bounded(f) && strlen(text) > (size_t)f->most)
		return err_set(err, -EINVAL, "%s has %zu characters: at most %lld are taken", f->name, strlen(text),
			       (long long)f->most);
	if (f->is & (IS_INT | IS_INSTANT) && !is_number(f, text))
		return err_set(err, -EINVAL, "%s=%.40s: it must be a whole number from %lld to %lld", f->name, text,
			       (long long)f->least, (long long)f->most);
	return 0;
}
