/*
 * order.h - the waiting jobs in the order in which the scheduler considers them.
 */
#ifndef SCHED_ORDER_H
#define SCHED_ORDER_H

#include "sched/sched.h"

/* Appends the jobs that nothing keeps from being considered, the first one first: those with deadlines, emergency and starving ones by arrival, then common
 * ones. Jobs that wait for a limit are not among them. */
void sched_order(struct sched *s, job_vec *ret);

#endif
