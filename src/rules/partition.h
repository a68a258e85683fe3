/*
 * partition.h - decides at submission which partitions a job may run in, and how many processors it
 * gets there.
 *
 * A job names a partition, a number of processors, both or neither:
 *
 *	neither		partitions of one size: any of them, with all of its processors
 *			partitions of several sizes: refused, a number is required
 *	a partition	that one, with all of its processors
 *	a number	any partition of that size, else any of the next larger size: sized down
 *	both		that partition, sized down if it is larger
 *
 * A job does not use a partition larger than necessary, even if the smaller ones are busy: that
 * stays free for jobs that make better use of it. A job is refused if its partition does not exist
 * or is too small, or if none is large enough.
 *
 * Where a site has partitions and nodes outside partitions, a job that does not mention partitions
 * runs on the nodes outside them.
 */
#ifndef RULES_PARTITION_H
#define RULES_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cluster.h"
#include "rules/queue.h"

/* The user's specification. */
struct partition_ask {
	const char *name; /* partition name; NULL: none */
	bool any;	  /* partition=any */
	int64_t procs;	  /* number of processors; 0: not given */
};

/* The resulting choice. */
struct partition_choice {
	int64_t procs; /* number of processors it gets */
	/* job.allowed: nodes of the suitable partitions; NODES_ALL: nodes outside partitions */
	uint32_t allowed;
};

/* Returns true if a job runs in a partition: it mentions one, or there are no nodes outside
 * partitions. */
bool partition_wanted(const struct cluster *c, const struct partition_ask *ask);

/* Returns the default number of processors for a job that mentions neither a partition nor a
 * number and runs in a partition; 0 if it does not, or must give a number. */
int64_t partition_usual(const struct cluster *c);

/* Chooses partitions and processors. -EINVAL, with the reason, if the job is refused. */
int partition_choose(struct cluster *c, const struct partition_ask *ask, struct partition_choice *ret, struct err *err);

/* Returns the request of a job in a partition: `procs` processors, cut for the nodes of the
 * suitable partitions. */
uint32_t partition_request(struct cluster *c, const struct partition_choice *choice);

/* Completes a text at submission: a job in a partition that does not give a number of processors
 * gets those of its partition. -EINVAL if the job is refused. */
int partition_complete(struct cluster *c, struct reqtext *text, struct arena *arena, struct err *err);
/* Resolves a text into its request and the suitable nodes; without a number it means one
 * processor. The number of fragments depends only on the number of processors, so that what is
 * known of a job stays valid when partitions change. -EINVAL if the job is refused; if only
 * because of the partition, the request is still set, with no suitable node. */
int partition_resolve(struct cluster *c, const struct reqtext *text, uint32_t *ret_request, uint32_t *ret_allowed,
		      struct err *err);

/* Creates a site's partitions in a cluster that has none. -EINVAL: a node does not exist, or is
 * in two partitions. */
int partitions_of_site(struct cluster *c, const struct ruleset *site, struct err *err);

#endif
