/*
 * order.h - lists waiting jobs in the order in which the scheduler considers them.
 */
#ifndef SCHED_ORDER_H
#define SCHED_ORDER_H

#include "sched/sched.h"

/* Appends the jobs that the scheduler may consider, first one first: jobs with deadlines,
 * emergency and starving jobs by arrival, then common jobs. Jobs that wait for a limit are left
 * out. */
void sched_order(struct sched *s, job_vec *ret);
/* Calls a function for each of them in that order, until it returns false. It must not change
 * anything. */
void sched_order_each(struct sched *s, bool (*one)(void *context, uint32_t job), void *context);

#endif
