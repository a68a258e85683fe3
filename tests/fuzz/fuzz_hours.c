/*
 * fuzz_hours.c - any bytes as hours of the week: they are read, or refused with a message, and
 * hours that were read give ordered spans.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hours.h"
#include "base/mem.h"
#include "base/timetext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_alloc(size + 1);
	struct err err = {.text = ""};
	int64_t at = INT64_C(1790000000), begin, end;
	struct hours h;

	memcpy(text, data, size);
	text[size] = '\0';
	if (hours_read(text, &h, &err) < 0) {
		if (!err.text[0])
			abort();
	} else {
		if (hours_longest(&h) <= 0)
			abort();
		for (int i = 0; i < 20 && at != TIME_NEVER; i++, at = end)
			if (!hours_next(&h, at, &begin, &end) || end <= at || begin >= end)
				abort();
		hours_done(&h, at == TIME_NEVER ? 0 : at, 100000, 3600);
	}
	free(text);
	return 0;
}
