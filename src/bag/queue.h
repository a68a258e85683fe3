/*
 * queue.h - chooses the next task to run, and judges results. Pure: no clock, no I/O.
 *
 * A task waits, is in flight in one or more copies, and is finished once: done, or set aside. Tasks
 * with the same needs wait in one line, first come, first served; among the lines, the task with
 * the lowest number that fits comes first. If the first task that fits a worker does not fit what
 * is free there now, after a while that worker gets no smaller tasks, so the task is not passed
 * over for ever.
 *
 * A worker that dies takes all of its tasks with it, and one of them may be the cause. So a task
 * that was lost with two workers runs alone from then on, after the others: only a loss while it
 * ran alone sets it aside.
 *
 * Copies: with --agree K each task needs K equal results. When nothing waits, idle workers get
 * copies of tasks in flight, the oldest first, up to `replicas` of each (WQR); the first result
 * counts, and the others are cancelled.
 */
#ifndef BAG_QUEUE_H
#define BAG_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "bag/bagfile.h"

struct queue_rules {
	int attempts; /* failures after which a task is set aside */
	int losses;   /* losses after which a task is set aside, if it ran alone at the last one */
	int replicas; /* copies in flight, at most; 1: no replication */
	int agree;    /* number of equal results needed */
};

enum task_state {
	TASK_WAITING = 0,
	TASK_FLYING = 1,
	TASK_DONE = 2,
	TASK_ASIDE = 3,
};

struct queue;
/* the bag is borrowed */
struct queue *task_queue_create(const struct bag *bag, const struct queue_rules *rules);
void task_queue_destroy(struct queue *q);

/* Restores a finished task from the journal, before any task is taken. */
void queue_restore(struct queue *q, uint32_t task, enum task_state state, int failures);
/* Makes all tasks that were set aside wait again; returns how many. */
uint32_t queue_retry(struct queue *q);

/* What a worker can offer. */
struct offer {
	int64_t cpus, gpus, memory; /* free now; memory -1: unknown */
	int64_t seconds;	    /* time until it ends; -1: no end */
	int64_t usual;		    /* typical seconds of a task that states no time; 0: unknown */
	int64_t all_cpus, all_gpus; /* its total resources */
	int worker;		    /* number of the worker, from 0 */
	/* number of workers; with --agree none gives a second result before all gave one */
	int workers;
};

/* Takes the next task for this worker, now in flight there; 0: none. Tasks are numbered from 1. */
uint32_t queue_take(struct queue *q, const struct offer *offer);
/* Takes the next task that must run alone, for a worker that has no task; 0: none. */
uint32_t queue_take_alone(struct queue *q, const struct offer *offer);
/* Gives an idle worker a copy of a task that is in flight elsewhere, while nothing waits;
 * returns false if it gets none. */
bool queue_copy(struct queue *q, uint32_t task, const struct offer *offer);
/* Takes back a copy that had not begun, or whose worker was cancelled on purpose; this does not
 * count as a failure. */
void queue_return(struct queue *q, uint32_t task, int worker);

enum verdict {
	VERDICT_DONE,	/* finished: cancel other copies, and record it */
	VERDICT_ASIDE,	/* set aside: cancel other copies, and record it */
	VERDICT_AGAIN,	/* waits again, or other copies are still in flight */
	VERDICT_IGNORE, /* it was finished already */
};
/* Judges a result: `good` if the task succeeded, `hash` of its output. */
enum verdict queue_result(struct queue *q, uint32_t task, int worker, bool good, uint64_t hash);
/* Notes that a worker vanished while it ran the task. `counts`: it was killed, and not taken away
 * with its allocation. `alone`: it ran no other task. */
enum verdict queue_lost(struct queue *q, uint32_t task, int worker, bool counts, bool alone);
/* Counts a loss whose reason was not known at that time. */
enum verdict queue_blame(struct queue *q, uint32_t task, bool alone);

/* Notes that a worker's time ended while it ran the task, after `stay` seconds. That is not a
 * failure, but the task needs more time. `longest`: most seconds that any worker can have, -1:
 * no end. A task that needs more is set aside. */
enum verdict queue_cut(struct queue *q, uint32_t task, int64_t stay, int64_t longest);

/* Forgets a worker that is gone: nothing is kept free on it any more. */
void queue_gone(struct queue *q, int worker);

struct queue_counts {
	uint32_t waiting, flying, done, aside;
	uint64_t failures; /* failed attempts */
	uint64_t copies;   /* copies in flight, of all tasks */
};
struct queue_counts queue_counts(const struct queue *q);
/* Returns how many tasks with that need are waiting. */
uint32_t queue_waits(struct queue *q, uint32_t need);
enum task_state queue_state(const struct queue *q, uint32_t task);
int queue_failures(const struct queue *q, uint32_t task); /* failures and losses */
int queue_losses(const struct queue *q, uint32_t task);
int queue_copies(const struct queue *q, uint32_t task);
/* Sets a waiting task with that need aside, because no worker can run it, and returns it; 0: none
 * waits. */
uint32_t queue_refuse(struct queue *q, uint32_t need);
uint64_t queue_steps(const struct queue *q); /* what searches have looked at so far; for tests */
void queue_check(const struct queue *q);     /* asserts the invariants; for tests */

#endif
