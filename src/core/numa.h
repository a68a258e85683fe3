/*
 * numa.h - chooses the CPUs of a node for a part of a job.
 */
#ifndef CORE_NUMA_H
#define CORE_NUMA_H

#include <stdbool.h>
#include <stdint.h>

/* Takes `want` unused CPUs, lowest first, and marks them as used: from one NUMA node if they
 * fit, preferring the one with the fewest free, else from anywhere. numa[cpu] is the NUMA node
 * of each of the first `known` CPUs; the others belong to none. Returns false, with nothing
 * changed, if there are too few. */
bool numa_take(bool *used, int64_t total, const int32_t *numa, int64_t known, int64_t want, int32_t *ret);

#endif
