/*
 * metrics_internal.h - declarations shared by metrics.c and bounds.c.
 */
#ifndef SIM_METRICS_INTERNAL_H
#define SIM_METRICS_INTERNAL_H

#include "sim/metrics.h"

/* Returns the processor-seconds of a job on CPUs of its own. */
static inline double outcome_area(const struct simulated *o)
{
	return o->share ? 0 : (double)o->runtime * (double)o->procs;
}

/* Computes the lower bounds. All of the jobs must have run. */
void bounds_compute(struct bounds *b, const struct simulated *o, int64_t n, int64_t procs);

#endif
