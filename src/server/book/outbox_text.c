/*
 * outbox_text.c - see outbox_text.h.
 */
#include "server/book/outbox_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void outbox_text_compare(struct outbox_text *t, const char *path, int64_t from, bool last)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	if (!f)
		return;
	fseeko(f, from, SEEK_SET);
	while ((n = getline(&line, &size, f)) > 0) {
		if (line[n - 1] == '\n')
			++*map_at(&t->there, hash_bytes(line, (size_t)n));
		else if (last)
			strbuf_add(&t->tail, line, (size_t)n);
	}
	free(line);
	fclose(f);
}

static bool seen(struct outbox_text *t, const char *line, size_t n)
{
	uint64_t *count = map_at(&t->there, hash_bytes(line, n));

	return *count > 0 && (*count)--;
}

void outbox_text_finish(struct outbox_text *t)
{
	struct strbuf all = t->text;
	const char *at = strbuf_text(&all), *end = at + all.n;
	bool first = true;

	t->text = (struct strbuf){0};
	for (const char *next; at < end; at = next) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		next = stop ? stop + 1 : end;
		if (seen(t, at, (size_t)(next - at)))
			continue;
		size_t cut = first ? t->tail.n : 0;
		first = false;
		if (cut && (cut > (size_t)(next - at) || memcmp(at, t->tail.text, cut) != 0)) {
			strbuf_puts(&t->text, "\n");
			cut = 0;
		}
		strbuf_add(&t->text, at + cut, (size_t)(next - at) - cut);
	}
	strbuf_fini(&all);
}

void outbox_text_fini(struct outbox_text *t)
{
	strbuf_fini(&t->text);
	strbuf_fini(&t->tail);
	map_fini(&t->there);
}
