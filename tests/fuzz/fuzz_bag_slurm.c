/*
 * fuzz_bag_slurm.c - any bytes as what squeue prints: what is taken is a job's number and a request's, and it comes to an end.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "bag/slurm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slurm_line l;
	size_t at = 0, before = 0;

	while (slurm_next((const char *)data, size, &at, &l)) {
		assert(at > before && at <= size);
		assert(l.job[0] && strspn(l.job, "0123456789") == strlen(l.job) && l.number >= 0);
		before = at;
	}
	assert(at == size);
	return 0;
}
