/*
 * fuzz_tar.c - any bytes as an uploaded archive: the limits hold, whatever it contains.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct tar_limits limits = {.bytes = 1 << 20, .members = 50};
	struct tar_facts facts;
	struct err err;

	if (tar_check(data, size, &limits, &facts, &err) == 0 &&
	    (facts.bytes < 0 || facts.bytes > limits.bytes || facts.members < 1 || facts.members > limits.members))
		abort();
	return 0;
}
