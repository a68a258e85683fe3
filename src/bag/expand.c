/*
 * expand.c - commands with places for values; lines of CSV.
 */
#include "bag/expand.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "bag/bagfile.h"
#include "base/amount.h"
#include "base/text.h"

void values_clear(struct values *x)
{
	for (size_t i = 0; i < x->v.n; i++)
		free(x->v.v[i]);
	vec_clear(&x->v);
}

void values_fini(struct values *x)
{
	values_clear(x);
	vec_free(&x->v);
}

/* The text that values are put into. */
struct target {
	struct strbuf *out;
	bool pattern; /* a list of file patterns, not a command for the shell */
	bool wrong;   /* a value is not allowed there */
};

/* Escapes a value, so that it matches itself in a list of patterns. */
static void put_pattern(struct target *to, const char *text)
{
	to->wrong = to->wrong || strpbrk(text, " \t\r\n,");
	for (; *text; text++)
		strbuf_printf(to->out, "%s%c", strchr("*?[\\", *text) ? "\\" : "", *text);
}

static void put(struct target *to, const char *text, size_t n)
{
	char *copy = mem_alloc(n + 1);

	memcpy(copy, text, n);
	copy[n] = '\0';
	if (to->pattern)
		put_pattern(to, copy);
	else
		text_quote(copy, to->out);
	free(copy);
}

/* Returns the offset of a file name's extension, or the length if there is none. ".profile" has
 * none. */
static size_t stem(const char *value)
{
	const char *slash = strrchr(value, '/'), *name = slash ? slash + 1 : value;
	const char *dot = strrchr(name, '.');

	return dot && dot > name ? (size_t)(dot - value) : strlen(value);
}

/* Puts one of the forms that change a value; returns false if it is not one. */
static bool put_form(struct target *to, const char *form, const char *value)
{
	const char *slash = strrchr(value, '/'), *name = slash ? slash + 1 : value;

	if (strcmp(form, "") == 0)
		put(to, value, strlen(value));
	else if (strcmp(form, ".") == 0)
		put(to, value, stem(value));
	else if (strcmp(form, "/") == 0)
		put(to, name, strlen(name));
	else if (strcmp(form, "/.") == 0)
		put(to, name, stem(value) - (size_t)(name - value));
	else if (strcmp(form, "//") == 0)
		put(to, slash == value ? "/" : slash ? value : ".", slash > value ? (size_t)(slash - value) : 1);
	else
		return false;
	return true;
}

/* Puts a place: returns 1, 0 if the text in the braces is not a place, or -errno. */
static int put_place(struct target *to, const char *form, const struct values *names, const struct values *values,
		     int64_t number, struct err *err)
{
	const char *first = values->v.n ? values->v.v[0] : NULL, *at = form;
	int64_t column;

	if (strcmp(form, "#") == 0) {
		strbuf_printf(to->out, "%" PRId64, number);
		return 1;
	}
	if (first && put_form(to, form, first))
		return 1;
	if (digits_scan(&at, 100000, &column) && !*at) {
		if (column < 1 || (size_t)column > values->v.n)
			return err_set(err, -EINVAL, "{%s}: there are %zu values, from {1} on", form, values->v.n);
		put(to, values->v.v[column - 1], strlen(values->v.v[column - 1]));
		return 1;
	}
	for (size_t i = 0; names && i < names->v.n; i++)
		if (*form && strcmp(names->v.v[i], form) == 0) {
			if (i >= values->v.n)
				return err_set(err, -EINVAL, "{%s}: the line has only %zu value%s", form, values->v.n,
					       values->v.n == 1 ? "" : "s");
			put(to, values->v.v[i], strlen(values->v.v[i]));
			return 1;
		}
	return 0;
}

/* Expands all places; returns 1 if there was any, 0 if not, or -errno. */
static int expand(const char *text, const struct values *names, const struct values *values, int64_t number,
		  struct target *to, struct err *err)
{
	int any = 0, rc = 0;

	for (const char *at = text; *at && rc >= 0;) {
		char form[64];
		const char *close = *at == '{' ? strchr(at, '}') : NULL;
		size_t n = close ? (size_t)(close - at - 1) : sizeof form;
		rc = 0;
		if (n < sizeof form) {
			memcpy(form, at + 1, n);
			form[n] = '\0';
			rc = put_place(to, form, names, values, number, err);
		}
		any = any || rc > 0;
		if (rc > 0)
			at = close + 1;
		else
			strbuf_add(to->out, at++, 1);
	}
	return rc < 0 ? rc : any;
}

int expand_command(const char *command, const struct values *names, const struct values *values, int64_t number,
		   struct strbuf *out, struct err *err)
{
	struct strbuf line = {0};
	int rc = expand(command, names, values, number, &(struct target){.out = &line}, err);

	if (rc == 0 && values->v.n) {
		strbuf_puts(&line, " ");
		text_quote(values->v.v[0], &line);
	}
	rc = rc < 0 ? rc : 0;
	if (rc == 0 && line.n > BAG_LINE_MOST)
		rc = err_set(err, -EINVAL, "the command has %zu bytes; at most %d are allowed", line.n, BAG_LINE_MOST);
	if (rc == 0 && line.n && strpbrk(line.text, "\n\r"))
		rc = err_set(err, -EINVAL, "a value contains a line break; a command must be one line");
	if (rc == 0)
		strbuf_add(out, strbuf_text(&line), line.n);
	strbuf_fini(&line);
	return rc;
}

int expand_need(const char *need, const struct values *names, const struct values *values, int64_t number,
		struct strbuf *out, struct err *err)
{
	struct target to = {.out = out, .pattern = true};
	int rc = expand(need, names, values, number, &to, err);

	if (rc >= 0 && to.wrong)
		rc = err_set(err, -EINVAL, "files that go with tasks can't have blanks or commas in their names");
	return rc < 0 ? rc : 0;
}

bool expand_unknown(const char *command, const struct values *names, char ret[64])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	for (const char *at = strchr(command, '{'); at; at = strchr(at + 1, '{')) {
		size_t n = strspn(at + 1, letters);
		bool known = n == 0 || n >= 64 || (at > command && at[-1] == '$') || at[1 + n] != '}' ||
			     (at[1] >= '0' && at[1] <= '9');
		for (size_t i = 0; i < names->v.n && !known; i++)
			known = strlen(names->v.v[i]) == n && memcmp(names->v.v[i], at + 1, n) == 0;
		if (known)
			continue;
		memcpy(ret, at + 1, n);
		ret[n] = '\0';
		return true;
	}
	return false;
}

int csv_split(const char *line, struct values *ret, struct err *err)
{
	struct strbuf value = {0};
	bool quoted = false, tabs = false;

	for (const char *p = line; *p; p++) {
		quoted = *p == '"' ? !quoted : quoted;
		tabs = tabs || (*p == '\t' && !quoted);
	}
	if (quoted)
		return err_set(err, -EINVAL, "a quote is not closed on its line");
	char separator = tabs ? '\t' : ',';
	values_clear(ret);
	for (const char *p = line;; p++) {
		if (*p == '"' && !(quoted && p[1] == '"')) {
			quoted = !quoted;
		} else if (!*p || (*p == separator && !quoted)) {
			vec_push(&ret->v, mem_strdup(strbuf_text(&value)));
			strbuf_clear(&value);
			if (!*p)
				break;
		} else {
			p += *p == '"'; /* doubled quote */
			strbuf_add(&value, p, 1);
		}
	}
	strbuf_fini(&value);
	return 0;
}
