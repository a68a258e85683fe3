/*
 * fuzz_json.c - any bytes as JSON: json_read() gives what json_loadb() gives, or refuses what it
 * refuses, at the same position. The first byte chooses the flags.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonread.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t flags[] = {0, JSON_ALLOW_NUL, JSON_DISABLE_EOF_CHECK, JSON_DECODE_ANY,
				       JSON_REJECT_DUPLICATES};
	json_error_t expected = {0}, error = {0};
	size_t f;

	if (size == 0)
		return 0;
	f = flags[data[0] % (sizeof flags / sizeof *flags)];

	json_t *a = json_loadb((const char *)data + 1, size - 1, f, &expected);
	json_t *b = json_read((const char *)data + 1, size - 1, f, &error);

	if (!a != !b || (a && !json_equal(a, b)) || error.position != expected.position ||
	    strcmp(error.text, expected.text) != 0)
		abort();
	json_decref(a);
	json_decref(b);
	return 0;
}
