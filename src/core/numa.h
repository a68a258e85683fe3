/*
 * numa.h - which of a node's CPUs a part of a job gets.
 */
#ifndef CORE_NUMA_H
#define CORE_NUMA_H

#include <stdbool.h>
#include <stdint.h>

/* Chooses `want` CPUs that are not used, from the lowest on: of one NUMA node where they fit, the one with the fewest free; else wherever they are. numa[cpu] is
 * the NUMA node of each of the first `known`; others are of none. False: there are too few; nothing is changed. They are marked as used. */
bool numa_take(bool *used, int64_t total, const int32_t *numa, int64_t known, int64_t want, int32_t *ret);

#endif
