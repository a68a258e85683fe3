/*
 * advice.h - suggests what a job should request next time, and shows how that would have served
 * similar jobs.
 *
 * Memory and walltime: the highest use plus a fifth, rounded up to a number that people write. If a
 * job was ended at its limit, its true need is unknown and the suggestion is twice the limit. CPUs:
 * the average number that were busy.
 */
#ifndef CORE_ADVICE_H
#define CORE_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* A job that has run, or one element of an array. */
struct advice_run {
	int64_t ran_ms, cpu_ms, peak_kib; /* measured use */
	/* requested; walltime in seconds; 0: not requested */
	int64_t nodes, cpus, memory_kib, walltime;
	bool out_of_time, out_of_memory; /* the job was ended at that limit */
};

/* Suggested request. 0: the request was right, or there is no basis for a suggestion. */
struct advice {
	int64_t cpus, memory_kib, walltime; /* walltime in seconds */
};

/* Computes advice from all runs of a job, one or more. */
struct advice advice_make(const struct advice_run *runs, size_t n);
/* Returns true if the run would have been ended at the suggested limits. */
bool advice_fails(const struct advice *a, const struct advice_run *run);
/* Prints requested and used CPUs, memory and walltime, one line each. */
void advice_compare(const struct advice_run *runs, size_t n, struct strbuf *out);
/* Appends the value for -l, such as "mem=640mb,walltime=00:15:00", or nothing if no change is
 * needed. CPUs are left out because there are several ways to request them. */
void advice_request(const struct advice *a, struct strbuf *out);
/* Appends a sentence that says what to request next time. */
void advice_text(const struct advice *a, const struct advice_run *runs, size_t n, struct strbuf *out);

#endif
