/*
 * position_internal.h - what items.c, displace.c and position.c share: waiting jobs on their way to places.
 */
#ifndef SCHED_POSITION_INTERNAL_H
#define SCHED_POSITION_INTERNAL_H

#include "sched/sched_internal.h"

/* A waiting job on its way to a place. */
struct item {
	int64_t start;	/* that it has, or had; TIME_NEVER: none */
	int64_t length; /* seconds */
	int64_t latest; /* start that its deadline needs, if that was guaranteed; else TIME_NEVER */
	double rank;
	uint32_t job;
	int32_t node;	  /* of its first fragment, before */
	bool nice, ahead; /* behind all others; before normal jobs, since its deadline can't be met */
	uint64_t where;	  /* of all fragments, before */
};
typedef VEC(struct item) item_vec;

struct item item_of(const struct sched *s, const struct job *job);
bool item_is_nice(const struct sched *s, const struct job *job);

/* Orders: FIFO, those that can't meet their deadlines first, nice jobs behind; as they are scheduled; guaranteed ones by their latest starts, then the others as they are scheduled. */
int items_by_arrival(const void *a, const void *b);
int items_by_start(const void *a, const void *b);
int items_by_latest(const void *a, const void *b);
void items_sort(item_vec *v, int (*order)(const void *, const void *));

/* The waiting jobs that have a place, as they are scheduled: all (JOB_NONE), or those in the way of a job. */
void items_collect(const struct sched *s, uint32_t job, item_vec *ret);
/* Takes the places of those from `from` on. */
void items_take(struct sched *s, const item_vec *v, size_t from);
/* The earliest place, from the present instant on. */
int64_t item_place(struct sched *s, const struct item *x);
/* Places those from `from` on, which have no places, in their order; the first that is late, whose place is taken again, or n. */
size_t items_place(struct sched *s, const item_vec *v, size_t from);
/* Gives everybody from `from` on a place in the order of `v`, which is changed where a deadline requires it. False: none was found, and the plan
 * is to be rolled back. */
bool items_arrange(struct sched *s, item_vec *v, size_t from);

/* Emits the events of their new places; a special job that has none any more has lost it to `by`. */
void items_publish(struct sched *s, const item_vec *v, uint32_t by);
void item_publish_common(struct sched *s, const struct item *x, int64_t start);

/* nights.c: the earliest place of a job that has none, from an instant on, in the hours in which it may run. */
int64_t place_earliest(struct sched *s, uint32_t job, int64_t from, int64_t length);

/* displace.c: takes a job with a deadline in where no order of those that wait meets it: at the latest place that its
 * deadline allows, in the place of a running normal job. */
bool displace(struct sched *s, struct item x, const item_vec *others);
/* Jobs that were to displace others and can have a place as early without doing so: the others go on. */
void displace_review(struct sched *s);
/* A running job whose place was taken: it waits again. */
void displace_stop(struct sched *s, uint32_t job, uint32_t by);
/* The booking of a job, if it has one, is out of the plan for a while, is there again, is dropped. */
void restart_lift(struct sched *s, uint32_t job);
void restart_return(struct sched *s, uint32_t job);
void restart_drop(struct sched *s, uint32_t job);
/* Bookings are derived: a scheduler that was made anew finds them again. */
void restarts_settle(struct sched *s);
/* Bookings of those that were stopped become their places; of those that have ended, or are spared, they are free. */
void restarts_review(struct sched *s);

/* entrance.c: an interactive job starts, or expires. */
void entrance_add(struct sched *s, const struct job *job);

#endif
