/*
 * listing.c - tables of an answer's objects, one row each, described by their columns.
 */
#include "cmd/lib/listing.h"

#include <time.h>

#include "base/table.h"
#include "base/timetext.h"
#include "cmd/lib/object.h"
#include "cmd/lib/show.h"

#define COLUMNS_MOST 16

void cell_plain(const json_t *object, const char *key, struct strbuf *cell)
{
	const json_t *value = object_value(object, key);

	if (json_is_integer(value))
		strbuf_int(cell, json_integer_value(value));
	else
		strbuf_puts(cell, value_text(value));
}

struct table *listing_table(const json_t *list, const struct listing_column *columns)
{
	const char *heading[COLUMNS_MOST];
	struct strbuf cell = {0};
	const json_t *object;
	int n = 0;
	size_t i;

	for (; n < COLUMNS_MOST && columns[n].heading; n++)
		heading[n] = columns[n].heading;
	struct table *t = table_create(heading, n);
	json_array_foreach(list, i, object) for (int k = 0; k < n; k++)
	{
		strbuf_clear(&cell);
		if (columns[k].make)
			columns[k].make(object, columns[k].key, &cell);
		else
			strbuf_printf(&cell, columns[k].format,
				      json_number_value(object_value(object, columns[k].key)));
		table_cell(t, "%s", strbuf_text(&cell));
	}
	strbuf_fini(&cell);
	return t;
}

void listing_print(const json_t *list, const struct listing_column *columns, const char *none)
{
	if (none && json_array_size(list) == 0) {
		if (*none)
			puts(none);
		return;
	}
	struct table *t = listing_table(list, columns);
	table_print(t, stdout, 0);
	table_destroy(t);
}

int listing_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct listing *l = c->listing;
	const struct show_arguments *a = arguments;
	int code;
	json_t *answer = show_ask(c, api_path(l->path, operands->n ? operands->v[0] : ""), NULL, &code);

	if (answer && a->json)
		show_json(answer);
	else if (answer)
		listing_print(json_object_get(answer, l->key), l->columns, l->none);
	if (answer && !a->json && l->after)
		l->after(json_object_get(answer, l->key));
	json_decref(answer);
	return code;
}

void cell_id(const json_t *object, const char *key, struct strbuf *cell)
{
	char id[64];

	strbuf_puts(cell, id_short(object_text(object, key), id, sizeof id));
}

void cell_instant(const json_t *object, const char *key, struct strbuf *cell)
{
	int64_t at = object_number(object, key, 0);
	char text[40];

	strbuf_puts(cell, at ? instant_format(at, text, sizeof text) : "");
}

void cell_near(const json_t *object, const char *key, struct strbuf *cell)
{
	int64_t at = object_number(object, key, -1);
	char text[40];

	strbuf_puts(cell, at < 0 ? "-" : instant_near(at, (int64_t)time(NULL), text, sizeof text));
}

void cell_duration(const json_t *object, const char *key, struct strbuf *cell)
{
	int64_t seconds = object_number(object, key, -1);
	char text[40];

	strbuf_puts(cell, seconds < 0 ? "-" : duration_human(seconds, text, sizeof text));
}

void cell_memory(const json_t *object, const char *key, struct strbuf *cell)
{
	char text[40];

	strbuf_puts(cell, memory_human(object_number(object, key, 0), text, sizeof text));
}

void cell_words(const json_t *object, const char *key, struct strbuf *cell)
{
	const json_t *word;
	size_t i;

	json_array_foreach(object_value(object, key), i, word)
		strbuf_printf(cell, "%s%s", i ? " " : "", value_text(word));
	strbuf_puts(cell, i ? "" : "-");
}
