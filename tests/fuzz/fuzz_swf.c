/*
 * fuzz_swf.c - any bytes as a trace, by both rules: they are read or refused; a workload that was
 * read keeps the promises of workload.h.
 */
#include <assert.h>

#include "base/lines.h"
#include "sim/workload.h"

static void workload_check(const struct workload *w)
{
	struct map ids = {0};

	for (size_t i = 0; i < w->jobs.n; i++) {
		const struct wjob *j = &w->jobs.v[i];
		assert(j->submit >= 0 && j->runtime > 0 && j->walltime > 0 && j->user < w->users.n);
		assert(j->text >= 0 ? (size_t)j->text < w->texts.n : j->procs > 0 || workload_parted(w, j));
		assert(i == 0 || j->submit >= w->jobs.v[i - 1].submit);
		assert(!map_get(&ids, (uint64_t)j->id, NULL));
		map_set(&ids, (uint64_t)j->id, 1);
	}
	map_fini(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (enum rules rules = RULES_SITE; rules <= RULES_SC15; rules++) {
		struct lines *in = lines_over(data, size);
		struct workload *w = workload_create("fuzz");
		struct err err;
		if (workload_read_lines(in, rules, size % 3 ? 0 : 5, w, &err) == 0)
			workload_check(w);
		workload_destroy(w);
		lines_close(in);
	}
	return 0;
}
