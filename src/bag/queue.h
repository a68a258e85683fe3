/*
 * queue.h - which task runs next, and what becomes of its results. Pure: no clock, no I/O.
 *
 * A task waits, is in flight in one or more copies, and is finished once: done, or set aside. Tasks with the same needs wait in one line, first come, first
 * served; among the lines the task with the lowest number that fits comes first. A task that is too large for what is free now but not for the worker
 * keeps that worker from taking smaller ones after a while, so it is not passed over for ever.
 *
 * Copies: with --agree K each task needs K equal results. When nothing waits, idle workers get copies of tasks in flight, the oldest first, up to
 * `replicas` of each (WQR); the first result counts, and the others are cancelled.
 */
#ifndef BAG_QUEUE_H
#define BAG_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "bag/bagfile.h"

struct queue_rules {
	int attempts; /* failures after which a task is set aside */
	int losses;   /* workers it may take with it before it is set aside */
	int replicas; /* copies in flight, at most; 1: none */
	int agree;    /* equal results that count */
};

enum task_state {
	TASK_WAITING = 0,
	TASK_FLYING = 1,
	TASK_DONE = 2,
	TASK_ASIDE = 3,
};

struct queue;
struct queue *queue_create(const struct bag *bag, const struct queue_rules *rules); /* the bag is borrowed */
void queue_destroy(struct queue *q);

/* What is known from the journal, before anything is taken: the task is finished. */
void queue_restore(struct queue *q, uint32_t task, enum task_state state, int failures);
/* All that were set aside wait again. Returns how many. */
uint32_t queue_retry(struct queue *q);

/* What a worker has to give. */
struct offer {
	int64_t cpus, gpus, memory; /* free now; memory -1: unknown */
	int64_t seconds;	    /* until its end; -1: it has none */
	int64_t usual;		    /* seconds that a task takes which states no time; 0: unknown */
	int64_t all_cpus, all_gpus; /* when it is empty */
	int worker;		    /* from 0 */
	int workers;		    /* that there are: with --agree nobody gives a second result before all gave one */
};

/* The next task for this worker, now in flight there; 0: none. Numbers of tasks begin with 1. */
uint32_t queue_take(struct queue *q, const struct offer *offer);
/* Whether this worker, which is idle while nothing waits, gets a copy of a task that is in flight elsewhere; it has it then. */
bool queue_copy(struct queue *q, uint32_t task, const struct offer *offer);
/* A copy that had not begun, or whose worker was cancelled on purpose, is no longer there: nobody's fault. */
void queue_return(struct queue *q, uint32_t task, int worker);

enum verdict {
	VERDICT_DONE,	/* finished: cancel other copies, and record it */
	VERDICT_ASIDE,	/* set aside: the same */
	VERDICT_AGAIN,	/* waits again, or other copies are still in flight */
	VERDICT_IGNORE, /* it was finished already */
};
/* A result: `good` if the task succeeded, `hash` of what it gave. */
enum verdict queue_result(struct queue *q, uint32_t task, int worker, bool good, uint64_t hash);
/* The worker vanished while it ran the task. */
enum verdict queue_lost(struct queue *q, uint32_t task, int worker);

/* Its worker's time ended while it ran the task, for `stay` seconds: not its fault, but it needs more than that. `longest`: seconds that a worker can have at most,
 * -1: without end. A task that needs more than any worker has is set aside. */
enum verdict queue_cut(struct queue *q, uint32_t task, int64_t stay, int64_t longest);

/* The worker is gone: nothing is kept free on it any more. */
void queue_gone(struct queue *q, int worker);

struct queue_counts {
	uint32_t waiting, flying, done, aside;
	uint64_t failures; /* attempts that failed */
	uint64_t copies;   /* in flight, of all tasks */
};
struct queue_counts queue_counts(const struct queue *q);
/* Tasks with that need that wait. */
uint32_t queue_waits(struct queue *q, uint32_t need);
enum task_state queue_state(const struct queue *q, uint32_t task);
int queue_failures(const struct queue *q, uint32_t task);
int queue_copies(const struct queue *q, uint32_t task);
/* A waiting task that no worker of this size could run, so that it can be reported; 0: none. */
uint32_t queue_too_large(const struct queue *q, int64_t all_cpus, int64_t all_gpus);
void queue_check(const struct queue *q); /* asserts the invariants; for tests */

#endif
