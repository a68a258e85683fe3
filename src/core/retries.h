/*
 * retries.h - how often a job is run again by itself after it has failed: "2", for some exit codes
 * only: "2:on=75,100-110", or with more memory if that was the cause: "2:mem=x2".
 */
#ifndef CORE_RETRIES_H
#define CORE_RETRIES_H

#include "base/err.h"
#include "core/array.h"

#define RETRIES_MOST 100

struct retries {
	int64_t n;
	struct array_spec on; /* exit codes; empty: any but 0 */
	double memory;	      /* factor of the memory requested after it was killed for memory; 0: none */
};
/* Parses a text. -EINVAL. The caller frees the result with retries_fini(). */
int retries_parse(const char *text, struct retries *ret, struct err *err);
void retries_fini(struct retries *r);
/* Returns true if a job that ended with this exit code, 128 and more for signals, is run again
 * after `done` retries. `memory`: it used more than its limit. */
bool retries_due(const struct retries *r, int64_t done, int64_t code, bool memory);

#endif
