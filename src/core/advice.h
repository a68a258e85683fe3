/*
 * advice.h - what a job should request next time, from what it used; and how that would have served others like it.
 *
 * Memory and walltime: a fifth more than the most that was used, rounded up to a number that people write. What a job needed that was ended at its limit
 * is not known: twice the limit. CPUs: as many as were busy on average.
 */
#ifndef CORE_ADVICE_H
#define CORE_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* A job that has run, or an element of an array. */
struct advice_run {
	int64_t ran_ms, cpu_ms, peak_kib;	   /* used */
	int64_t nodes, cpus, memory_kib, walltime; /* requested; walltime in seconds; 0: nothing was said */
	bool out_of_time, out_of_memory;	   /* it was ended at that limit */
};

/* What to request. 0: what was requested is right, or there is nothing to go by. */
struct advice {
	int64_t cpus, memory_kib, walltime; /* walltime in seconds */
};

/* From all runs of a job, one or more. */
struct advice advice_make(const struct advice_run *runs, size_t n);
/* Whether a run would have been ended at the limits that the advice sets. */
bool advice_fails(const struct advice *a, const struct advice_run *run);
/* What was requested and what was used, a line each for CPUs, memory and walltime. */
void advice_compare(const struct advice_run *runs, size_t n, struct strbuf *out);
/* "mem=640mb,walltime=00:15:00", what to write behind -l; "": nothing is to be changed there. CPUs are not in it: how they are requested differs. */
void advice_request(const struct advice *a, struct strbuf *out);
/* A sentence: what to request next time. */
void advice_text(const struct advice *a, const struct advice_run *runs, size_t n, struct strbuf *out);

#endif
