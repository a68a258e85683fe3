/*
 * joblist.c - requests lists of jobs and makes texts and tables of them.
 */
#include "cmd/lib/joblist.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/table.h"
#include "base/utf8.h"
#include "cmd/lib/object.h"
#include "cmd/lib/query.h"

#define TABLE_MOST 16 /* maximum columns of a table */

static int member_add(struct joblist *l, const char *name, size_t n)
{
	for (size_t i = 0; i < l->members.n; i++)
		if (strncmp(l->members.v[i], name, n) == 0 && !l->members.v[i][n])
			return (int)i;
	vec_push(&l->members, strndup(name, n));
	return (int)l->members.n - 1;
}

int joblist_member(struct joblist *l, const char *name)
{
	return member_add(l, name, strlen(name));
}

static void blanks_put(char *text)
{
	for (; *text; text++)
		*text = *text == '_' ? ' ' : *text;
}

/* Reads "HEADING:COLUMN" or "HEADING:COLUMN?TEXT". */
static void column_read(struct joblist *l, const char *text, size_t n)
{
	struct joblist_column x = {0};
	char name[32] = "";

	sscanf(text, "%23[^:]:%31[^? ]", x.heading, name);
	const char *none = memchr(text, '?', n);
	if (none)
		snprintf(x.none, sizeof x.none, "%.*s", (int)(text + n - none - 1), none + 1);
	blanks_put(x.heading);
	blanks_put(x.none);
	x.column = job_column_find(name);
	for (const char *p = x.column ? x.column->reads : name; *p && x.n < READS_MOST;) {
		size_t k = strcspn(p, ",");
		x.cell[x.n++] = member_add(l, p, k);
		p += k + (p[k] == ',');
	}
	vec_push(&l->columns, x);
}

int joblist_add(struct joblist *l, const char *listing)
{
	int first = (int)l->columns.n;

	for (const char *p = listing; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");
		column_read(l, p, n);
		p += n;
	}
	vec_push(&l->columns, (struct joblist_column){0});
	return first;
}

/* Returns true if the member is newer than servers that commands still work with. */
static bool member_is_new(const char *name)
{
	return strcmp(name, "array_failed") == 0;
}

/* Returns how many members are requested. */
static int asked(const struct joblist *l)
{
	int n = 0;

	for (size_t i = 0; i < l->members.n; i++)
		n += !l->older || !member_is_new(l->members.v[i]);
	return n;
}

static void cells_take(void *context, char *const *cell)
{
	struct joblist *l = context;
	char **all = (char **)cell, none[] = "";

	if (l->older) {
		all = mem_alloc(l->members.n * sizeof *all);
		for (size_t i = 0; i < l->members.n; i++)
			all[i] = member_is_new(l->members.v[i]) ? none : *cell++;
	}
	l->row(l->context, all);
	if (l->older)
		free(all);
}

void joblist_query(const struct joblist *l, struct strbuf *path)
{
	struct strbuf names = {0};

	for (size_t i = 0; i < l->members.n; i++)
		if (!l->older || !member_is_new(l->members.v[i]))
			strbuf_printf(&names, "%s%s", names.n ? "," : "", l->members.v[i]);
	query_add(path, "fields", strbuf_text(&names));
	strbuf_fini(&names);
}

int joblist_read(struct joblist *l, struct client *client, struct strbuf *path, struct err *err)
{
	size_t before = path->n;
	int rc;

	if (!l->making.now)
		l->making.now = (int64_t)time(NULL);
	joblist_query(l, path);
	rc = tsv_read(client, path->text, asked(l), cells_take, l, err);
	if (rc < 0 && !l->older && strstr(path->text + before, "array_failed") &&
	    strcmp(client_code(client), "bad_request") == 0) {
		l->older = true;
		path->text[path->n = before] = '\0';
		joblist_query(l, path);
		rc = tsv_read(client, path->text, asked(l), cells_take, l, err);
	}
	return rc;
}

static char *cell_make(const json_t *value)
{
	if (json_is_string(value))
		return mem_strdup(value_text(value));
	return value && !json_is_null(value) ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : mem_strdup("");
}

void joblist_object(struct joblist *l, const json_t *job)
{
	char **cell = mem_zalloc(l->members.n * sizeof *cell);

	for (size_t i = 0; i < l->members.n; i++)
		cell[i] = cell_make(json_object_get(job, l->members.v[i]));
	l->row(l->context, cell);
	for (size_t i = 0; i < l->members.n; i++)
		free(cell[i]);
	free(cell);
}

const char *joblist_text(struct joblist *l, int column, char *const *cell)
{
	const struct joblist_column *x = &l->columns.v[column];
	const char *text = cell[x->cell[0]];

	if (x->column) {
		for (int i = 0; i < READS_MOST; i++)
			l->making.v[i] = i < x->n ? cell[x->cell[i]] : NULL;
		l->making.form = x->column->form;
		text = x->column->make(&l->making);
	}
	return *text ? text : x->none;
}

void joblist_fini(struct joblist *l)
{
	name_list_free(&l->members);
	vec_free(&l->columns);
}

void column_add(struct strbuf *out, const char *text, int width)
{
	int most = width < 0 ? INT_MAX : width, used = 0;
	size_t n = 0;
	int32_t c;

	/* most texts are plain ASCII */
	for (; used < most && text[n] >= ' ' && text[n] < 0x7f; n++)
		used++;
	for (int k; (k = utf8_next(text + n, &c)) > 0 && used + 1 <= most; n += (size_t)k)
		used += utf8_columns(c);
	for (; width < 0 && used > -width && text[n - 1] == ' '; n--)
		used--;
	strbuf_blanks(out, -width - used);
	strbuf_add(out, text, n);
	strbuf_blanks(out, width - used);
	strbuf_puts(out, " ");
}

struct table *joblist_table(const struct joblist *l, int first)
{
	const char *headings[TABLE_MOST];
	int n = 0;

	for (; *l->columns.v[first + n].heading && n < TABLE_MOST; n++)
		headings[n] = l->columns.v[first + n].heading;
	return table_create(headings, n);
}

void joblist_row(struct joblist *l, int first, struct table *t, char *const *cell)
{
	for (int i = first; *l->columns.v[i].heading; i++)
		table_cell(t, "%s", joblist_text(l, i, cell));
}
