/*
 * query.c - requests for lists: paths with queries, and answers of tab-separated lines.
 */
#include "cmd/lib/query.h"

#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "cmd/lib/object.h"

const char *api_path(const char *format, ...)
{
	static struct strbuf path;
	va_list ap;

	strbuf_clear(&path);
	va_start(ap, format);
	for (const char *p = format; *p;) {
		size_t n = strcspn(p, "%");
		if (*p == '&' && !strchr(path.text, '?')) { /* the first of the query was left out */
			strbuf_char(&path, '?');
			p++, n--;
		}
		strbuf_add(&path, p, n);
		p += n;
		if (!*p)
			break;
		const char *value = va_arg(ap, const char *);
		if (value && *value)
			url_quote(value, &path);
		else if (strchr(path.text, '?'))
			path.n -= strlen(strrchr(path.text, strchr(path.text, '&') ? '&' : '?'));
		path.text[path.n] = '\0';
		p += strlen("%s");
	}
	va_end(ap);
	return strbuf_text(&path);
}

void query_add(struct strbuf *path, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	strbuf_printf(path, "%c%s=", strchr(strbuf_text(path), '?') ? '&' : '?', key);
	url_quote(value, path);
}

void users_query(struct strbuf *path, const char *users)
{
	struct strbuf bare = {0};

	for (const char *p = users; p && *p;) {
		size_t n = strcspn(p, ",");
		strbuf_printf(&bare, "%s%.*s", bare.n ? "," : "", (int)strcspn(p, "@,"), p);
		p += n;
		p += *p == ',';
	}
	query_add(path, "user", strbuf_text(&bare));
	strbuf_fini(&bare);
}

static bool host_same(const char *a, const char *b)
{
	size_t n = strcspn(a, "."), m = strcspn(b, ".");

	return *a && *b && n == m && strncasecmp(a, b, n) == 0 && (!a[n] || !b[m] || strcasecmp(a, b) == 0);
}

int queue_here(struct client *client, const char *text, char ret[256], struct err *err)
{
	const char *at = strchr(text, '@');
	struct reply r = {0};
	int rc = 0;

	snprintf(ret, 256, "%.*s", at ? (int)(at - text) : 255, text);
	if (!at || strcasecmp(at + 1, "localhost") == 0)
		return 0;
	rc = client_ask(client, "GET", "/v1/server", NULL, 0, &r, err);
	if (rc == 0 && strcmp(at + 1, object_text(r.json, "name")) != 0 &&
	    !host_same(at + 1, object_text(r.json, "host")))
		rc = err_set(err, -ENOENT, "%.60s: %.60s is not this server, which is %.60s", text, at + 1,
			     object_text(r.json, "name"));
	reply_fini(&r);
	return rc;
}

/* A list of lines that arrives in pieces of any size. */
struct tsv {
	struct strbuf text; /* incomplete last line */
	int columns;
	char **cell;
	VEC(char *) dirty;
	void (*row)(void *context, char *const *cell);
	void *context;
};

static void cell_unescape(char *cell)
{
	char *to = strchr(cell, '\\');

	for (const char *from = to; from && *from; from++) {
		if (*from == '\\' && from[1]) {
			from++;
			*to++ = *from == 't' ? '\t' : *from == 'n' ? '\n' : *from;
		} else {
			*to++ = *from;
		}
	}
	if (to)
		*to = '\0';
}

/* Cleans a cell. It may get longer: then it is kept in `dirty` until the row is done. */
static char *cell_clean(struct tsv *t, char *cell)
{
	size_t n = strlen(cell);

	if (text_is_clean(cell, n, TEXT_LINE))
		return cell;
	struct strbuf clean = {0};
	text_clean(&clean, cell, n, TEXT_LINE);
	vec_push(&t->dirty, clean.text);
	return clean.text;
}

/* Splits a line that needs no cleaning in one pass: most lines of a long list. Returns false, with
 * the line unchanged, if it is not such a line. */
static bool line_split(struct tsv *t, char *line, char *none)
{
	int n = 0;

	t->cell[n++] = line;
	for (; *line; line++) {
		if (*line == '\t') {
			if (n < t->columns)
				t->cell[n] = line + 1;
			n++;
		} else if (*line < ' ' || *line >= 0x7f || *line == '\\') {
			return false;
		}
	}
	for (int i = 1; i < n && i < t->columns; i++)
		t->cell[i][-1] = '\0';
	if (n > t->columns) /* more than requested */
		*strchr(t->cell[t->columns - 1], '\t') = '\0';
	for (; n < t->columns; n++)
		t->cell[n] = none;
	return true;
}

static void tsv_line(struct tsv *t, char *line)
{
	static char none[1];
	bool plain = line_split(t, line, none);

	for (int i = 0; i < t->columns && !plain; i++) {
		t->cell[i] = line ? line : none;
		if (!line)
			continue;
		char *tab = strchr(line, '\t');
		if (tab)
			*tab++ = '\0';
		cell_unescape(line);
		t->cell[i] = cell_clean(t, line);
		line = tab;
	}
	t->row(t->context, t->cell);
	for (size_t i = 0; i < t->dirty.n; i++)
		free(t->dirty.v[i]);
	t->dirty.n = 0;
}

static int tsv_piece(void *context, const char *data, size_t n)
{
	struct tsv *t = context;
	char *line, *end;

	strbuf_add(&t->text, data, n);
	if (!t->text.text)
		return 0;
	char *stop = t->text.text + t->text.n;
	for (line = t->text.text; (end = memchr(line, '\n', (size_t)(stop - line))); line = end + 1) {
		*end = '\0';
		tsv_line(t, line);
	}
	t->text.n = (size_t)(stop - line);
	memmove(t->text.text, line, t->text.n + 1);
	return 0;
}

int tsv_read(struct client *client, const char *path, int columns, void (*row)(void *context, char *const *cell),
	     void *context, struct err *err)
{
	struct tsv t = {.columns = columns, .row = row, .context = context};

	t.cell = mem_zalloc((size_t)columns * sizeof *t.cell);
	int rc = client_read(client, path, "text/tab-separated-values", tsv_piece, &t, err);
	if (rc == 0 && t.text.n)
		tsv_line(&t, t.text.text);
	strbuf_fini(&t.text);
	free(t.cell);
	vec_free(&t.dirty);
	return rc;
}

int64_t cell_number(const char *cell)
{
	int64_t n = 0;
	int digits = 0;

	for (; digits < 18 && cell[digits] >= '0' && cell[digits] <= '9'; digits++)
		n = 10 * n + (cell[digits] - '0');
	return digits > 0 && digits < 18 ? n : strtoll(cell, NULL, 10);
}

const char *user_name(void)
{
	static char name[64];
	struct passwd *user = getpwuid(getuid());

	if (user)
		snprintf(name, sizeof name, "%s", user->pw_name);
	else
		snprintf(name, sizeof name, "%u", (unsigned)getuid());
	return name;
}
