/*
 * fuzz_script.c - any bytes as a script: its directives are read or refused, lines are in order,
 * and words are not longer than the text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_create();
	struct directives d;
	struct err err;
	size_t letters = 0;
	int line = 0;

	if (directives_read((const char *)data, size, SCRIPT_PREFIX, arena, &d, &err) == 0) {
		for (size_t i = 0; i < d.list.n; i++) {
			if (d.list.v[i].line <= line || d.list.v[i].words.n < 1)
				abort();
			line = d.list.v[i].line;
			for (int k = 0; k < d.list.v[i].words.n; k++)
				letters += strlen(d.list.v[i].words.v[k]);
		}
		if (letters > size || (d.late && d.late <= line))
			abort();
	}
	directives_fini(&d);
	arena_destroy(arena);
	return 0;
}
