/*
 * fuzz_bag_pbs.c - any bytes as the output of qstat -f, pbsnodes and a plan: reading ends, and the
 * plan has no gap.
 */
#include <assert.h>
#include <stdint.h>

#include "bag/batch.h"
#include "base/timetext.h"

static void check(const struct rebuild *r)
{
	assert(r->free.v[0].start == 1000 && r->free.v[r->free.n - 1].end == TIME_NEVER);
	for (size_t i = 1; i < r->free.n; i++)
		assert(r->free.v[i].start == r->free.v[i - 1].end && r->free.v[i].procs >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct batch_line l;
	struct rebuild r = {0};
	size_t at = 0, before = 0;

	while (dialect_pbs.next("tag", (const char *)data, size, &at, &l)) {
		assert(at > before && at <= size);
		assert(l.job[0] && l.number > 0);
		before = at;
	}
	assert(at == size);
	dialect_pbs.plan_parse("tag", (const char *)data, size, 1000, &r);
	rebuild_plan(&r, 1000, 70);
	check(&r);
	rebuild_clear(&r);
	dialect_shunt.plan_parse("tag", (const char *)data, size, 1000, &r);
	filler_in_the_way(&r.places, 1000);
	filler_hole(&r.places, 1000,
		    &(struct filler_wish){.each = 2, .task = 10, .tasks = 50, .cpus = 20, .seconds = 600});
	rebuild_plan(&r, 1000, 70);
	check(&r);
	rebuild_fini(&r);
	return 0;
}
