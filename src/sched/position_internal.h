/*
 * position_internal.h - waiting jobs that are being placed; shared by items.c, displace.c and
 * position.c.
 */
#ifndef SCHED_POSITION_INTERNAL_H
#define SCHED_POSITION_INTERNAL_H

#include "sched/sched_internal.h"

/* A waiting job that is being placed. */
struct item {
	int64_t start;	/* present or previous start; TIME_NEVER: none */
	int64_t length; /* length of the place, seconds */
	/* latest start that meets its guaranteed deadline; TIME_NEVER: none is guaranteed */
	int64_t latest;
	double rank;
	uint32_t job;
	int32_t node; /* previous node of its first fragment */
	/* nice: behind all other jobs; ahead: before normal jobs, since its deadline cannot be
	 * met */
	bool nice, ahead;
	bool listed;	/* its entry in the queue has the previous start */
	uint64_t where; /* hash of the previous nodes of all fragments */
};
typedef VEC(struct item) item_vec;

struct item item_of(const struct sched *s, const struct job *job);
bool item_is_nice(const struct sched *s, const struct job *job);

/* Orders. By arrival: FIFO, with jobs that cannot meet their deadlines first and nice jobs last.
 * By start: as scheduled. By latest: guaranteed jobs by their latest starts, then others as
 * scheduled. */
int items_by_arrival(const void *a, const void *b);
int items_by_start(const void *a, const void *b);
int items_by_latest(const void *a, const void *b);
void items_sort(item_vec *v, int (*order)(const void *, const void *));

/* Collects the waiting jobs that have a place, as scheduled: all (JOB_NONE), or those in the way
 * of a job. */
void items_collect(const struct sched *s, uint32_t job, item_vec *ret);
/* Takes away the places of items from `from` on. */
void items_take(struct sched *s, const item_vec *v, size_t from);
/* Places the item as early as possible, from an instant on. */
int64_t item_place(struct sched *s, const struct item *x, int64_t from);
/* Places items from `from` on, which have no places, in their order. Returns the index of the
 * first that is late, whose place is taken away again, or n. */
size_t items_place(struct sched *s, const item_vec *v, size_t from);
/* Places all items from `from` on in the order of `v`, which is changed where a deadline
 * requires it. Returns false if no order was found; the caller then rolls the plan back. */
bool items_arrange(struct sched *s, item_vec *v, size_t from);

/* Emits the events of the new places. A special job that has none any more has lost it to `by`. */
void items_publish(struct sched *s, const item_vec *v, uint32_t by);
void item_publish_common(struct sched *s, const struct item *x, int64_t start);

/* nights.c: finds the earliest place of a job that has none, from an instant on, within the
 * hours in which the job may run. */
int64_t place_earliest(struct sched *s, uint32_t job, int64_t from, int64_t length);

/* displace.c: places a job with a deadline that no order of the waiting jobs meets: at the
 * latest place that the deadline allows, displacing a running normal job. */
bool position_displace(struct sched *s, struct item x, const item_vec *others);
/* Spares jobs that were to be displaced if the job that displaces them can have an equally early
 * place without that. */
void displace_review(struct sched *s);
/* Stops a running job whose place was taken; it waits again. */
void displace_stop(struct sched *s, uint32_t job, uint32_t by);
/* Take the restart booking of a job, if it has one, out of the plan temporarily, put it back,
 * and drop it. */
void restart_lift(struct sched *s, uint32_t job);
void restart_return(struct sched *s, uint32_t job);
void restart_drop(struct sched *s, uint32_t job);
/* Makes bookings again in a scheduler that was created again: they are derived from the victims. */
void restarts_settle(struct sched *s);
/* Turns bookings of jobs that were stopped into their places, and frees those of jobs that have
 * ended or are spared. */
void restarts_review(struct sched *s);

/* entrance.c: starts an interactive job, or lets it expire. */
void entrance_add(struct sched *s, const struct job *job);

#endif
