/*
 * partition.h - which partitions a job may run in, and how many processors it has there: what is checked when it is submitted.
 *
 * A job names a partition, a number of processors, both or neither:
 *
 *	neither		partitions of one size: any of them, with all of its processors
 *			partitions of several sizes: refused, the number is missing
 *	a partition	that one, with all of its processors
 *	a number	any partition of exactly that size; if there is none, any of the smallest that are larger: sized down
 *	both		that partition, sized down if it is larger
 *
 * A larger partition than need be stays free for jobs that make better use of it, even if the smallest ones are busy. It is refused if the
 * partition does not exist, or is too small, or if none is large enough.
 *
 * Where a site has partitions and shared nodes, a job that does not mention partitions runs on the shared nodes.
 */
#ifndef RULES_PARTITION_H
#define RULES_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cluster.h"

/* What the user said of it. */
struct partition_ask {
	const char *name; /* of a partition; NULL: none is named */
	bool any;	  /* it is to run in a partition, whichever suits it */
	int64_t procs;	  /* 0: not said */
};

/* What follows. */
struct partition_choice {
	int64_t procs; /* that it has */
	uint32_t
		allowed; /* the nodes of the partitions that suit it: job.allowed; NODES_ALL: it runs on shared nodes */
};

/* Whether a job runs in a partition: it mentions one, or there are no shared nodes. */
bool partition_wanted(const struct cluster *c, const struct partition_ask *ask);

/* Chooses. -EINVAL, with a sentence that names the cause: it is refused. */
int partition_choose(struct cluster *c, const struct partition_ask *ask, struct partition_choice *ret, struct err *err);

/* The request of a job in a partition: `procs` processors, cut for the nodes of the partitions that suit it. */
uint32_t partition_request(struct cluster *c, const struct partition_choice *choice);

/* Whether fewer processors were asked for than each suitable partition has: the others of its nodes stay idle. */
bool partition_sized_down(const struct cluster *c, const struct partition_choice *choice);

#endif
