/*
 * fuzz_bag_slurm.c - any bytes as the output of squeue and sinfo: accepted values are numbers of
 * jobs and requests, reading ends, and the plan has no gap.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "bag/batch.h"
#include "base/timetext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct batch_line l;
	struct rebuild r = {0};
	size_t at = 0, before = 0;

	while (dialect_slurm.next("tag", (const char *)data, size, &at, &l)) {
		assert(at > before && at <= size);
		assert(l.job[0] && strspn(l.job, "0123456789") == strlen(l.job) && l.number >= 0);
		before = at;
	}
	assert(at == size);
	dialect_slurm.plan_parse("tag", (const char *)data, size, 1000, &r);
	rebuild_plan(&r, 1000, 70);
	assert(r.free.v[0].start == 1000 && r.free.v[r.free.n - 1].end == TIME_NEVER);
	for (size_t i = 1; i < r.free.n; i++)
		assert(r.free.v[i].start == r.free.v[i - 1].end && r.free.v[i].procs >= 0);
	rebuild_fini(&r);
	return 0;
}
