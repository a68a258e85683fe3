/*
 * pbsrecord.c - see pbsrecord.h.
 */
#include "client/pbsrecord.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/strbuf.h"
#include "base/vec.h"

static bool time_scan(const char **at, int64_t *ret)
{
	struct tm tm = {.tm_isdst = -1};
	char *end = strptime(*at, "%m/%d/%Y %H:%M:%S", &tm);

	if (!end || *end != ';')
		return false;
	time_t t = mktime(&tm);
	*ret = t;
	*at = end + 1;
	return t != (time_t)-1;
}

/* Decodes a quoted value (record_format() in server/book/record.c); `at` is behind the opening
 * quote. Returns what follows the closing one. */
static const char *quoted_scan(const char *at, struct strbuf *out)
{
	for (; *at && *at != '"'; at++) {
		unsigned c;
		if (*at != '\\' || !at[1]) {
			strbuf_add(out, at, 1);
			continue;
		}
		at++;
		if (*at == 'x' && isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2]) &&
		    sscanf(at + 1, "%2x", &c) == 1 && c != 0) {
			strbuf_add(out, &(char){(char)c}, 1);
			at += 2;
		} else {
			strbuf_add(out, *at == 'n' ? "\n" : *at == 't' ? "\t" : at, 1);
		}
	}
	return *at ? at + 1 : at;
}

/* Reads a value up to a blank, quoted or not. */
static const char *value_scan(const char *at, struct strbuf *out)
{
	if (*at == '"')
		at = quoted_scan(at + 1, out);
	size_t n = strcspn(at, " \t");
	strbuf_add(out, at, n);
	return at + n;
}

/* Reads one word: a field, or a continuation of the last one's value. */
static const char *word_scan(const char *at, struct arena *arena, struct record_field *last, bool *ret_new)
{
	size_t key = strcspn(at, "= \t");
	struct strbuf value = {0};

	*ret_new = at[key] == '=' && key > 0;
	if (*ret_new) {
		last->key = arena_strndup(arena, at, key);
		at = value_scan(at + key + 1, &value);
	} else if (last->key) {
		strbuf_printf(&value, "%s%s", last->value, *last->value ? " " : "");
		at = value_scan(at, &value);
	} else {
		size_t n = strcspn(at, " \t");
		last->key = arena_strndup(arena, at, n);
		*ret_new = true;
		at += n;
	}
	last->value = arena_strndup(arena, strbuf_text(&value), value.n);
	strbuf_fini(&value);
	return at;
}

int record_parse(const char *line, struct arena *arena, struct record_line *ret, struct err *err)
{
	VEC(struct record_field) found = {0};
	struct record_line r = {0};
	const char *at = line;

	if (!time_scan(&at, &r.time) || !isalpha((unsigned char)at[0]) || at[1] != ';')
		return err_set(err, -EINVAL,
			       "not an accounting record; one begins as in 11/15/2026 06:42:53;E;12.server;");
	r.type = *at;
	at += 2;
	size_t n = strcspn(at, ";");
	r.id = arena_strndup(arena, at, n);
	at += n + (at[n] == ';');
	for (at += strspn(at, " \t"); *at; at += strspn(at, " \t")) {
		struct record_field one = found.n ? found.v[found.n - 1] : (struct record_field){0};
		bool fresh;
		at = word_scan(at, arena, &one, &fresh);
		if (fresh)
			vec_push(&found, one);
		else
			found.v[found.n - 1] = one;
	}
	struct record_field *copy = arena_alloc(arena, (found.n + 1) * sizeof *copy);
	if (found.n)
		memcpy(copy, found.v, found.n * sizeof *copy);
	r.field = copy;
	r.nfields = (int)found.n;
	vec_free(&found);
	*ret = r;
	return 0;
}

const char *record_get(const struct record_line *r, const char *key)
{
	for (int i = 0; i < r->nfields; i++)
		if (strcmp(r->field[i].key, key) == 0)
			return r->field[i].value;
	return NULL;
}
