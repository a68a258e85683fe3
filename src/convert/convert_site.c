/*
 * convert_site.c - the site that the readers of other systems' configurations fill, and their
 * remarks.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/text.h"
#include "convert/convert_internal.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

void convert_remark(struct conversion *c, const char *fmt, ...)
{
	struct strbuf b = {0}, clean = {0};
	va_list ap;

	strbuf_printf(&b, "%s:%lld: ", c->file, (long long)c->line);
	va_start(ap, fmt);
	strbuf_vprintf(&b, fmt, ap);
	va_end(ap);
	text_clean(&clean, b.text, b.n, TEXT_LINE);
	vec_push(&c->remark, clean.text);
	strbuf_fini(&b);
}

struct attrs *convert_queue(struct conversion *c, const char *name)
{
	int at = ruleset_find(&c->site, name);

	if (at < 0 && (!*name || strlen(name) > OBJECT_NAME_MAX || !isalpha((unsigned char)*name) ||
		       name[strspn(name, LETTERS)])) {
		convert_remark(c,
			       "queue %.80s: the name begins with a letter and has letters, digits, '_', '.' and '-'",
			       name);
		return NULL;
	}
	if (at < 0)
		at = ruleset_add(&c->site, name);
	return &c->site.queues.v[at].attrs;
}

struct attrs *convert_object(struct conversion *c, enum object_kind kind, const char *name)
{
	struct object *x = object_find(&c->site.objects, kind, name);
	struct err err;

	if (x || object_create(&c->site.objects, kind, name, &x, &err) == 0)
		return &x->attrs;
	convert_remark(c, "%s", err.text);
	return NULL;
}

/* Returns the object that attributes belong to, or NULL. */
static struct object *owner_of(struct conversion *c, const struct attrs *a)
{
	for (int k = 0; k < OBJECT_KINDS; k++)
		for (size_t i = 0; i < c->site.objects.of[k].n; i++)
			if (&c->site.objects.of[k].v[i]->attrs == a)
				return c->site.objects.of[k].v[i];
	return NULL;
}

bool convert_change(struct conversion *c, struct attrs *a, enum attr_op op, const char *name, const char *value)
{
	struct object *x = a ? owner_of(c, a) : NULL;
	struct attrs before;
	struct err err;
	int rc;

	if (!a)
		return false;
	attrs_copy(&before, a);
	rc = attrs_change(a, op, name, value, &err);
	if (rc == 0 && x)
		rc = object_check(&c->site.objects, x, &err);
	if (rc < 0) {
		attrs_fini(a);
		*a = before;
		convert_remark(c, "%s", err.text);
		return false;
	}
	attrs_fini(&before);
	return true;
}

bool convert_set(struct conversion *c, struct attrs *a, const char *name, const char *value)
{
	return convert_change(c, a, ATTR_SET, name, value);
}

bool convert_number(struct conversion *c, struct attrs *a, const char *name, int64_t value)
{
	char text[32];

	snprintf(text, sizeof text, "%lld", (long long)value);
	return convert_set(c, a, name, text);
}

bool convert_add(struct conversion *c, struct attrs *a, const char *list, const char *element)
{
	return convert_change(c, a, ATTR_ADD, list, element);
}

char *convert_word(char **at)
{
	char *word, *to, quote = 0;

	*at += strspn(*at, " \t\r");
	if (!**at)
		return NULL;
	for (word = to = *at; **at && (quote || !strchr(" \t\r", **at)); (*at)++) {
		if (quote ? **at == quote : **at == '"' || **at == '\'')
			quote = quote ? 0 : **at;
		else
			*to++ = **at;
	}
	if (**at)
		(*at)++;
	*to = '\0';
	return word;
}

bool convert_integer(struct conversion *c, const char *key, const char *value, int64_t min, int64_t *ret)
{
	const char *at = value + (*value == '-');
	int64_t n = 0;

	if (digits_scan(&at, INT64_C(1) << 53, &n) && !*at) {
		n = *value == '-' ? -n : n;
		if (n >= min) {
			*ret = n;
			return true;
		}
	}
	convert_remark(c, "%.60s: \"%.60s\" is not a whole number from %lld on", key, value, (long long)min);
	return false;
}
