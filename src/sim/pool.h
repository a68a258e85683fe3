/*
 * pool.h - runs independent tasks in child processes, as many at a time as there are cores.
 *
 * Children take the next task from a shared counter and leave results in shared memory. The result
 * of a task must depend only on its number, not on the process that ran it. A task that crashes
 * affects no other: it counts as failed.
 */
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Does task 0 <= i < n; its result is `size` zeroed bytes. Returns 0, or -errno with a message. */
typedef int (*pool_work)(void *context, int task, void *ret, struct err *err);

struct pool_tasks {
	pool_work work;
	void *context;
	int n;
	size_t size; /* bytes of a result */
	/* Writes a task's name for the message when it fails or crashes. NULL: tasks have no
	 * names. */
	void (*name)(void *context, int task, char *buf, size_t size);
	/* steps of each task, counted with pool_step(); 0: only whole tasks are counted */
	int64_t steps;
	int workers;	  /* processes; 0: one per core; 1: everything runs in this process */
	const char *what; /* label of the progress line; NULL: none */
};

/* Runs all tasks and leaves their results, one after another, in *ret_results; free them with
 * pool_free(). After a failure no further task is started; the failure reported is that of the
 * lowest task. */
int pool_run_tasks(const struct pool_tasks *tasks, void **ret_results, struct err *err);
/* Does the same for tasks without names and steps. */
int pool_run(pool_work work, void *context, int n, size_t size, int workers, const char *what, void **ret_results,
	     struct err *err);
void pool_free(void *results, int n, size_t size);

/* Called within a task: reports how many of its steps are done. */
void pool_step(int64_t done);

/* Allocates n times `size` zeroed bytes shared with children, for data too large for every task
 * to have; free it with pool_free(). Returns NULL if there is no memory. */
void *pool_alloc(int n, size_t size);

#endif
