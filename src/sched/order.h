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

#endif
