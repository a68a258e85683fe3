/*
 * pbsattr_print.c - prints attributes as PBS does: lines, XML, JSON, DSV.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"
#include "cmd/lib/object.h"
#include "cmd/pbs/pbsattr.h"

/* Writes a value for a line: times as ctime(), and nothing that could break the line. */
static void value_line(const struct pbsattr *a, struct strbuf *out)
{
	char buf[40];

	if (a->kind == PBSATTR_INSTANT) {
		strbuf_puts(out, instant_ctime(strtoll(a->value, NULL, 10), buf, sizeof buf));
		return;
	}
	text_clean(out, a->value, strlen(a->value), TEXT_LINE);
}

/* Wraps exactly as PBS does, because its readers join lines at newline and tab: parts between
 * commas stay whole while they fit, others begin a new line, and parts longer than a line are cut
 * anywhere. */
static void wrapped_add(struct strbuf *out, const char *value, int column, int width)
{
	bool first = true;

	while (*value == ',')
		value++;
	while (*value) {
		int n = (int)strcspn(value, ",");
		if (n + column < width) {
			strbuf_add(out, value, (size_t)n);
			column += n;
		} else {
			if (!first) {
				strbuf_puts(out, "\n\t");
				column = 9;
			}
			for (int i = 0; i < n; i++) {
				strbuf_add(out, value + i, 1);
				if (++column > width) {
					strbuf_puts(out, "\n\t");
					column = 8;
				}
			}
		}
		value += n;
		value += strspn(value, ",");
		if (*value)
			strbuf_puts(out, ",");
		first = false;
	}
}

void pbsattr_text(const struct pbsattrs *a, int indent, int width, struct strbuf *out)
{
	struct strbuf value = {0};

	for (size_t i = 0; i < a->list.n; i++) {
		const struct pbsattr *at = &a->list.v[i];
		size_t start = out->n;
		strbuf_printf(out, "%*s%s%s%s = ", indent, "", at->name, at->resource ? "." : "",
			      at->resource ? at->resource : "");
		strbuf_clear(&value);
		value_line(at, &value);
		if (width > 0)
			wrapped_add(out, strbuf_text(&value), (int)(out->n - start), width);
		else
			strbuf_puts(out, strbuf_text(&value));
		strbuf_puts(out, "\n");
	}
	strbuf_fini(&value);
}

void xml_quote(const char *text, struct strbuf *out)
{
	int32_t c;

	for (int n; (n = utf8_next(text, &c)) > 0; text += n) {
		if (c == '<')
			strbuf_puts(out, "&lt;");
		else if (c == '>')
			strbuf_puts(out, "&gt;");
		else if (c == '&')
			strbuf_puts(out, "&amp;");
		else if (c == '"')
			strbuf_puts(out, "&quot;");
		else if (c == '\n' || c == '\t' || c == '\r')
			strbuf_printf(out, "&#%d;", (int)c);
		else if (c == -1)
			strbuf_printf(out, "\\x%02x", (unsigned char)*text);
		/* XML does not allow them even as numbers */
		else if (text_harmful(c) || c == 0xfffe || c == 0xffff)
			text_escape(out, c);
		else
			strbuf_add(out, text, (size_t)n);
	}
}

static void element_add(struct strbuf *out, const char *name, const char *value)
{
	strbuf_printf(out, "<%s>", name);
	xml_quote(value, out);
	strbuf_printf(out, "</%s>", name);
}

static bool same_name(const struct pbsattrs *a, size_t i, size_t k)
{
	return k < a->list.n && a->list.v[k].resource && strcmp(a->list.v[i].name, a->list.v[k].name) == 0;
}

void pbsattr_xml(const struct pbsattrs *a, struct strbuf *out)
{
	for (size_t i = 0; i < a->list.n; i++) {
		const struct pbsattr *at = &a->list.v[i];
		if (!at->resource) {
			element_add(out, at->name, at->value);
			continue;
		}
		strbuf_printf(out, "<%s>", at->name);
		for (size_t k = i; same_name(a, i, k); k++)
			element_add(out, a->list.v[k].resource, a->list.v[k].value);
		strbuf_printf(out, "</%s>", at->name);
		while (same_name(a, i, i + 1))
			i++;
	}
}

static json_t *text_json(const char *text)
{
	return json_stringn(text, strlen(text));
}

static json_t *variables_json(const struct pbsattr *a)
{
	json_t *object = json_object();
	const json_t *item;
	size_t i;

	json_array_foreach(a->variables, i, item)
	{
		const char *text = json_string_value(item), *equals = text ? strchr(text, '=') : NULL;
		if (!equals)
			continue;
		char *name = strndup(text, (size_t)(equals - text));
		json_object_set_new(object, name, text_json(equals + 1));
		free(name);
	}
	return object;
}

static json_t *value_json(const struct pbsattr *a)
{
	char buf[40];

	if (a->kind == PBSATTR_VARIABLES)
		return variables_json(a);
	if (a->kind == PBSATTR_NUMBER)
		return json_integer(strtoll(a->value, NULL, 10));
	if (a->kind == PBSATTR_INSTANT)
		return text_json(instant_ctime(strtoll(a->value, NULL, 10), buf, sizeof buf));
	return text_json(a->value);
}

json_t *pbsattr_json(const struct pbsattrs *a)
{
	json_t *object = json_object();

	for (size_t i = 0; i < a->list.n; i++) {
		const struct pbsattr *at = &a->list.v[i];
		if (!at->resource) {
			json_object_set_new(object, at->name, value_json(at));
			continue;
		}
		json_t *inner = json_object_get(object, at->name);
		if (!inner) {
			inner = json_object();
			json_object_set_new(object, at->name, inner);
		}
		json_object_set_new(inner, at->resource, value_json(at));
	}
	return object;
}

void pbsattr_dsv(const struct pbsattrs *a, const char *delimiter, struct strbuf *out)
{
	struct strbuf value = {0};

	for (size_t i = 0; i < a->list.n; i++) {
		const struct pbsattr *at = &a->list.v[i];
		strbuf_printf(out, "%s%s%s%s=", i ? delimiter : "", at->name, at->resource ? "." : "",
			      at->resource ? at->resource : "");
		strbuf_clear(&value);
		value_line(at, &value);
		for (const char *p = strbuf_text(&value); *p; p++) {
			if (strncmp(p, delimiter, strlen(delimiter)) == 0)
				strbuf_puts(out, "\\");
			strbuf_add(out, p, 1);
		}
	}
	strbuf_fini(&value);
}
