/*
 * ahead.h - how long nodes can hold fragments from now on.
 */
#ifndef PLAN_AHEAD_H
#define PLAN_AHEAD_H

#include "plan/plan.h"

/* Writes, for each of the ascending numbers count[0 .. n), until when the nodes outside partitions
 * can hold that many fragments of `cpus` CPUs from now on; TIME_BEGIN: they cannot now. Only CPUs
 * count, and no fence, so it is an upper bound. */
void plan_ahead(struct plan *p, int64_t cpus, const int32_t *count, unsigned n, int64_t *ret);

#endif
