/*
 * pool.h - independent tasks in child processes, as many at a time as there are cores.
 *
 * Children take the next task from a counter that all share and leave results in shared memory; what a task gives must
 * depend on its number alone, so that nothing depends on who ran it. A task that crashes takes nothing with it: it has
 * failed, as if it had said so.
 */
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Does task 0 <= i < n; its result is `size` zeroed bytes. Returns 0, or -errno with a sentence. */
typedef int (*pool_work)(void *context, int task, void *ret, struct err *err);

struct pool_tasks {
	pool_work work;
	void *context;
	int n;
	size_t size; /* of a result */
	/* What a task is called when it fails or crashes. NULL: it has no name. */
	void (*name)(void *context, int task, char *buf, size_t size);
	int64_t steps;	  /* of each task, which it counts by pool_step(); 0: whole tasks are counted */
	int workers;	  /* processes; 0: one for each core; 1: all is done in this one */
	const char *what; /* the line of progress; NULL: none */
};

/* Runs all tasks and leaves the results, one after another, in *ret_results, which pool_free() gives back. After a failure
 * none is begun; the failure told is that of the lowest task. */
int pool_run_tasks(const struct pool_tasks *tasks, void **ret_results, struct err *err);
/* The same for tasks without names and steps. */
int pool_run(pool_work work, void *context, int n, size_t size, int workers, const char *what, void **ret_results,
	     struct err *err);
void pool_free(void *results, int n, size_t size);

/* From within a task: how many of its steps are done. */
void pool_step(int64_t done);

/* n times `size` zeroed bytes that children see too, for what is too large for every task to have; pool_free() frees it.
 * NULL: there is no memory. */
void *pool_alloc(int n, size_t size);

/* How many cores this process may use. */
int pool_cores(void);

#endif
