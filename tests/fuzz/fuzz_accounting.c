/*
 * fuzz_accounting.c - any bytes as accounting lines: they are read or refused. And any bytes as a
 * job's name in a record are read back unchanged.
 */
#include <assert.h>
#include <string.h>

#include "base/lines.h"
#include "base/vec.h"
#include "client/pbsrecord.h"
#include "server/book/accounting.h"

static void round_trip(const uint8_t *data, size_t size)
{
	char *name = mem_zalloc(size + 1);
	struct strbuf out = {0};
	struct record_line line;
	struct record r = {.time = 1000000000,
			   .type = 'E',
			   .id = "12.server",
			   .job = {.user = "ann", .name = name, .exit_status = -2}};
	struct arena *arena = arena_create();

	memcpy(name, data, size);
	record_format(&r, &out);
	assert(memchr(out.text, '\n', out.n) == out.text + out.n - 1);
	out.text[out.n - 1] = '\0';
	int rc = record_parse(out.text, arena, &line, NULL);
	assert(rc == 0 && line.time == 1000000000 && strcmp(record_get(&line, "Exit_status"), "-2") == 0);
	assert(!*name || strcmp(record_get(&line, "jobname"), name) == 0);
	arena_destroy(arena);
	strbuf_fini(&out);
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lines *in = lines_over(data, size);
	char *line;

	while (lines_next(in, &line, NULL) == 1) {
		struct arena *arena = arena_create();
		struct record_line r;
		struct err err;
		if (record_parse(line, arena, &r, &err) == 0)
			for (int i = 0; i < r.nfields; i++)
				assert(*r.field[i].key && record_get(&r, r.field[i].key));
		arena_destroy(arena);
	}
	lines_close(in);
	round_trip(data, size);
	return 0;
}
