/*
 * pool_waiting.h - the tasks that have no station, in the order in which they get one: the highest
 * priority first; then job by job, as the jobs came; within a job the longest path first. Pure.
 */
#ifndef STATION_POOL_WAITING_H
#define STATION_POOL_WAITING_H

#include <stddef.h>
#include <stdint.h>

#define WAITING_LEVELS 10 /* each has a quarter of the elements of the one below: enough for millions */

struct errand;

/* An element, which is part of its task. */
struct waiting {
	struct errand *task;
	int64_t priority, path;
	uint64_t job;	 /* a job that came later has a higher number */
	uint64_t number; /* set when it is added: the order of arrival */
	struct waiting *after[WAITING_LEVELS];
};

/* A skip list: a job may have 50,000 tasks, whose paths come in any order. */
struct waiting_list {
	struct waiting *first[WAITING_LEVELS];
	size_t n;
	uint64_t numbers; /* given out so far */
};

void waiting_add(struct waiting_list *l, struct waiting *w);
void waiting_remove(struct waiting_list *l, struct waiting *w);

#endif
