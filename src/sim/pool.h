/*
 * pool.h - independent tasks in child processes, as many at a time as there are cores.
 *
 * Children take the next task from a counter that all share and leave results in shared memory; what a task gives must
 * depend on its number alone, so that nothing depends on who ran it.
 */
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include <stddef.h>

#include "base/err.h"

/* Does task 0 <= i < n; its result is `size` zeroed bytes. Returns 0, or -errno with a sentence. */
typedef int (*pool_work)(void *context, int task, void *ret, struct err *err);

/* Runs all tasks and leaves the results, one after another, in *ret_results, which pool_free() gives back. `what` is the
 * line of progress, NULL: none. workers 0: one for each core. The first failure ends the rest. */
int pool_run(pool_work work, void *context, int n, size_t size, int workers, const char *what, void **ret_results,
	     struct err *err);
void pool_free(void *results, int n, size_t size);

#endif
