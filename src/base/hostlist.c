/*
 * hostlist.c - converts "n[1-3,07],gw" to and from lists of names.
 */
#include "base/hostlist.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define NAMES_MAX 100000
#define NAME_LENGTH_MAX 255
#define DIGITS_MAX 18 /* digits of a number: it fits in 64 bits */

void name_list_free(name_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	vec_free(l);
}

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '.' || c == '-' || c == '_';
}

static bool number_read(const char **at, uint64_t *ret, int *ret_digits)
{
	const char *from = *at;
	uint64_t n = 0;

	for (; isdigit((unsigned char)**at) && *at - from < DIGITS_MAX; ++*at)
		n = n * 10 + (uint64_t)(**at - '0');
	*ret = n;
	*ret_digits = (int)(*at - from);
	return *at > from && !isdigit((unsigned char)**at);
}

/* A partly expanded name. Every call to expand() below ends in at least one name or an error, so
 * that the limit on names also bounds the work. */
struct expansion {
	char name[NAME_LENGTH_MAX + 1];
	name_list *list;
	struct err *err;
};

static int expand(struct expansion *x, size_t n, const char *at, const char **ret_end);

/* Expands one number or range in a bracket, each with the rest of the name after the bracket. */
static int expand_range(struct expansion *x, size_t n, const char **at, const char *rest, const char **ret_end)
{
	uint64_t lo, hi;
	int digits, ignored;

	if (!number_read(at, &lo, &digits))
		return err_set(x->err, -EINVAL, "brackets hold numbers of up to %d digits and ranges, as in n[1-3,7]",
			       DIGITS_MAX);
	hi = lo;
	if (**at == '-' && (++*at, !number_read(at, &hi, &ignored)))
		return err_set(x->err, -EINVAL, "a range in brackets needs two numbers, as in n[1-3]");
	if (hi < lo)
		return err_set(x->err, -EINVAL, "the range %llu-%llu runs backwards", (unsigned long long)lo,
			       (unsigned long long)hi);
	for (uint64_t i = lo; i <= hi; i++) {
		char text[24];
		int len = snprintf(text, sizeof text, "%0*llu", digits, (unsigned long long)i);
		if (n + (size_t)len > NAME_LENGTH_MAX)
			return err_set(x->err, -EINVAL, "a name is longer than %d characters", NAME_LENGTH_MAX);
		memcpy(x->name + n, text, (size_t)len);
		int rc = expand(x, n + (size_t)len, rest, ret_end);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int expand_bracket(struct expansion *x, size_t n, const char *at, const char **ret_end)
{
	const char *close = strchr(at, ']');

	if (!close)
		return err_set(x->err, -EINVAL, "a bracket is not closed");
	do {
		at++;
		int rc = expand_range(x, n, &at, close + 1, ret_end);
		if (rc < 0)
			return rc;
	} while (*at == ',');
	return at == close ? 0 : err_set(x->err, -EINVAL, "brackets hold numbers and ranges, as in n[1-3,7]");
}

/* Expands the text at `at`, up to a comma or the end, after the first n characters of x->name. */
static int expand(struct expansion *x, size_t n, const char *at, const char **ret_end)
{
	for (; name_char(*at); at++) {
		if (n == NAME_LENGTH_MAX)
			return err_set(x->err, -EINVAL, "a name is longer than %d characters", NAME_LENGTH_MAX);
		x->name[n++] = *at;
	}
	if (*at == '[')
		return expand_bracket(x, n, at, ret_end);
	if (*at && *at != ',' && *at != ' ')
		return err_set(x->err, -EINVAL, "\"%.20s\": a name has letters, digits, '.', '-' and '_'", at);
	if (n == 0)
		return err_set(x->err, -EINVAL, "a name is missing");
	if (x->list->n == NAMES_MAX)
		return err_set(x->err, -EINVAL, "more than %d names", NAMES_MAX);
	x->name[n] = '\0';
	vec_push(x->list, mem_strdup(x->name));
	*ret_end = at;
	return 0;
}

int hostlist_parse(const char *text, name_list *ret, struct err *err)
{
	name_list list = {0};
	struct expansion x = {.list = &list, .err = err};
	int rc;

	do {
		text += strspn(text, " ");
		rc = expand(&x, 0, text, &text);
		if (rc < 0)
			break;
		text += strspn(text, " ");
		if (*text && *text != ',')
			rc = err_set(err, -EINVAL, "names are separated by commas");
	} while (rc == 0 && *text++ == ',');
	if (rc < 0)
		name_list_free(&list);
	else
		*ret = list;
	return rc;
}

/* ---- folding ---- */

/* A name, split around its last number before the first dot. */
struct split {
	const char *name, *suffix;
	size_t prefix; /* characters */
	int digits;    /* 0: no number */
	uint64_t number;
};

static struct split split_name(const char *name)
{
	struct split s = {.name = name, .suffix = name};
	size_t end = strcspn(name, ".");

	while (end > 0 && !isdigit((unsigned char)name[end - 1]))
		end--;
	size_t from = end;
	while (from > 0 && isdigit((unsigned char)name[from - 1]))
		from--;

	const char *at = name + from;
	if (end > from && number_read(&at, &s.number, &s.digits)) {
		s.prefix = from;
		s.suffix = at;
	} else {
		s.digits = 0;
	}
	return s;
}

static bool same_group(const struct split *a, const struct split *b)
{
	return a->digits && b->digits && a->prefix == b->prefix && memcmp(a->name, b->name, a->prefix) == 0 &&
	       strcmp(a->suffix, b->suffix) == 0;
}

/* Returns true if b's digits are what a range from `first` would write after a. */
static bool follows(const struct split *first, const struct split *a, const struct split *b)
{
	char text[24];
	int len = snprintf(text, sizeof text, "%0*llu", first->digits, (unsigned long long)a->number + 1);

	return b->digits == len && memcmp(b->name + b->prefix, text, (size_t)len) == 0;
}

/* Appends the numbers of a group, with runs as ranges. */
static void runs_add(const struct split *s, size_t n, struct strbuf *out)
{
	for (size_t i = 0, last; i < n; i = last + 1) {
		for (last = i; last + 1 < n && follows(&s[i], &s[last], &s[last + 1]);)
			last++;
		strbuf_puts(out, i ? "," : "");
		strbuf_add(out, s[i].name + s[i].prefix, (size_t)s[i].digits);
		if (last > i) {
			strbuf_puts(out, "-");
			strbuf_add(out, s[last].name + s[last].prefix, (size_t)s[last].digits);
		}
	}
}

void hostlist_format(char *const *names, size_t n, struct strbuf *out)
{
	VEC(struct split) group = {0};

	for (size_t i = 0; i < n; i += group.n) {
		vec_clear(&group);
		vec_push(&group, split_name(names[i]));
		while (i + group.n < n) {
			struct split next = split_name(names[i + group.n]);
			if (!same_group(&group.v[0], &next))
				break;
			vec_push(&group, next);
		}
		strbuf_puts(out, i ? "," : "");
		if (group.n == 1) {
			strbuf_puts(out, names[i]);
			continue;
		}
		strbuf_add(out, names[i], group.v[0].prefix);
		strbuf_puts(out, "[");
		runs_add(group.v, group.n, out);
		strbuf_puts(out, "]");
		strbuf_puts(out, group.v[0].suffix);
	}
	vec_free(&group);
}
