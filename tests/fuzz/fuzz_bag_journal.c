/*
 * fuzz_bag_journal.c - any bytes as records of a journal, with and without a valid checksum:
 * accepted records lie within the input and are the same when written again.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "bag/journal.h"
#include "base/mem.h"

static void records(const char *bytes, size_t n)
{
	struct record r, again;

	for (size_t at = 0, step; (step = record_next(bytes + at, n - at, &r)) > 0; at += step) {
		struct strbuf out = {0};
		assert(r.out + r.nout == bytes + at + step && r.err + r.nerr == r.out && step <= n - at);
		journal_record_put(&out, &r);
		assert(out.n == step && record_next(out.text, out.n, &again) == step && again.task == r.task);
		assert(again.nout == r.nout && memcmp(again.out, r.out, r.nout) == 0);
		strbuf_fini(&out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t head[2] = {(uint32_t)size, (uint32_t)crc32_z(0, data, size)};
	char *sealed = mem_alloc(size + 8);

	records((const char *)data, size);
	memcpy(sealed, head, 8);
	memcpy(sealed + 8, data, size);
	records(sealed, size + 8);
	free(sealed);
	return 0;
}
