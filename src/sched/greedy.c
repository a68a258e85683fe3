/*
 * greedy.c - chooses jobs that together best fill what is free now: those whose CPUs add up to the
 * largest possible sum.
 *
 * The algorithm keeps the set of reachable sums and, for each, the job that reached it first, so
 * that among several choices early jobs are preferred. The number of steps is jobs times CPUs,
 * processed 64 at a time.
 */
#include <stdlib.h>

#include "sched/sched_internal.h"

/* Marks the sums that one more job makes reachable, from high to low words so that it counts
 * once. */
static void sums_add(uint64_t *sums, uint16_t *by, size_t words, uint32_t cpus, uint16_t item)
{
	uint32_t skip = cpus / 64, bits = cpus % 64;

	for (size_t i = words; i-- > skip;) {
		uint64_t moved = sums[i - skip] << bits;
		if (bits && i > skip)
			moved |= sums[i - skip - 1] >> (64 - bits);
		for (uint64_t fresh = moved & ~sums[i]; fresh; fresh &= fresh - 1)
			by[i * 64 + (size_t)__builtin_ctzll(fresh)] = item;
		sums[i] |= moved;
	}
}

size_t greedy_choose(const struct queued *jobs, size_t n, int64_t room, uint16_t *ret)
{
	size_t words = (size_t)room / 64 + 1, chosen = 0;
	uint64_t *sums = mem_zalloc(words * sizeof *sums);
	uint16_t *by = mem_zalloc(words * 64 * sizeof *by);
	int64_t best = room;

	sums[0] = 1;
	for (size_t i = 0; i < n; i++)
		if (jobs[i].cpus <= room)
			sums_add(sums, by, words, (uint32_t)jobs[i].cpus, (uint16_t)i);
	while (best > 0 && !(sums[best / 64] >> best % 64 & 1))
		best--;
	for (; best > 0; best -= jobs[ret[chosen - 1]].cpus)
		ret[chosen++] = by[best];
	free(by);
	free(sums);
	return chosen;
}
