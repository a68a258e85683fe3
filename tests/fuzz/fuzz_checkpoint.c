/*
 * fuzz_checkpoint.c - any bytes as the argument of qsub -c: they are read within bounds, or refused
 * with a message.
 */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include "rules/checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create();
	struct checkpoint_wish w = {0};
	struct err err = {.text = ""};

	if (checkpoint_parse(arena_strndup(a, (const char *)data, size), a, &w, &err) < 0
		    ? !err.text[0]
		    : w.interval < 0 || w.interval > INT_MAX || w.duration < 0 || w.duration > INT_MAX || w.depth < 0 ||
			      (w.dir && *w.dir != '/'))
		abort();
	arena_destroy(a);
	return 0;
}
