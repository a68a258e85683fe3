/*
 * fuzz_bag_wire.c - any bytes as messages to a broker or a worker: accepted messages lie within the
 * input and can be written again.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "bag/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	struct wire w, again;
	ssize_t step;

	for (size_t at = 0; (step = wire_next(bytes + at, size - at, &w)) > 0; at += (size_t)step) {
		struct strbuf out = {0};
		assert((size_t)step <= size - at);
		wire_add(&out, &w);
		/* Numbers may have been encoded longer than necessary. */
		assert(out.n <= (size_t)step && wire_next(out.text, out.n, &again) == (ssize_t)out.n);
		assert(again.task == w.task && again.ntext == w.ntext && again.nerr == w.nerr);
		assert(!w.ntext || memcmp(again.text, w.text, w.ntext) == 0);
		strbuf_fini(&out);
	}
	return 0;
}
