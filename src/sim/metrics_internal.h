/*
 * metrics_internal.h - what metrics.c and bounds.c share.
 */
#ifndef SIM_METRICS_INTERNAL_H
#define SIM_METRICS_INTERNAL_H

#include "sim/metrics.h"

/* Processor-seconds. */
static inline double outcome_area(const struct simulated *o)
{
	return (double)o->runtime * (double)o->procs;
}

/* All of the jobs ran. */
void bounds_compute(struct bounds *b, const struct simulated *o, int64_t n, int64_t procs);

#endif
