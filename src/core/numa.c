/*
 * numa.c - chooses CPUs that are close to each other and to their memory.
 */
#include "core/numa.h"

#include <stdlib.h>

#include "base/mem.h"

#define NUMA_NONE (-1)

static int32_t numa_of(const int32_t *numa, int64_t known, int64_t cpu)
{
	return cpu < known && numa[cpu] >= 0 ? numa[cpu] : NUMA_NONE;
}

/* Returns the NUMA node with the fewest free CPUs among those with enough; NUMA_NONE if none has
 * enough. */
static int32_t numa_choose(const bool *used, int64_t total, const int32_t *numa, int64_t known, int64_t want)
{
	int32_t most = NUMA_NONE, best = NUMA_NONE;
	int64_t *free_of, least = 0;

	for (int64_t k = 0; k < total && k < known; k++)
		most = numa[k] > most ? numa[k] : most;
	free_of = mem_zalloc(((size_t)most + 2) * sizeof *free_of);
	for (int64_t k = 0; k < total; k++)
		if (!used[k] && numa_of(numa, known, k) != NUMA_NONE)
			free_of[numa[k]]++;
	for (int32_t i = 0; i <= most; i++)
		if (free_of[i] >= want && (best == NUMA_NONE || free_of[i] < least)) {
			best = i;
			least = free_of[i];
		}
	free(free_of);
	return best;
}

bool numa_take(bool *used, int64_t total, const int32_t *numa, int64_t known, int64_t want, int32_t *ret)
{
	int32_t from = known > 0 ? numa_choose(used, total, numa, known, want) : NUMA_NONE;
	int64_t n = 0;

	for (int64_t k = 0; k < total && n < want; k++)
		if (!used[k] && (from == NUMA_NONE || numa_of(numa, known, k) == from))
			ret[n++] = (int32_t)k;
	for (int64_t i = 0; n == want && i < n; i++)
		used[ret[i]] = true;
	return n == want;
}
