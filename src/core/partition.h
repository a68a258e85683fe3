/*
 * partition.h - fixed partitions: named sets of nodes that a job holds as a whole.
 *
 * A node is in one partition or in none; the nodes of none are shared by jobs as on any cluster. In the plan a partition is what a machine of
 * several nodes is: a ring of peers, which a job with WHOLE_HOST takes entirely wherever it has a fragment. So no second kind of booking is
 * needed: the nodes of one machine belong to one partition, and every job on a partition has WHOLE_HOST and runs in one partition only.
 *
 * Which partitions suit a job is decided in rules/partition.h.
 */
#ifndef CORE_PARTITION_H
#define CORE_PARTITION_H

#include <stdint.h>

#include "base/err.h"

#define PARTITIONS_MAX 1000 /* of a cluster */
#define PARTITION_NONE                                                                                                 \
	0 /* node.partition of a node outside partitions; else an index into cluster.partitions, plus one */

struct partition {
	uint32_t name;	/* in cluster.partition_names; equals its index */
	int32_t first;	/* its first node; the others follow by node.peer */
	uint32_t nodes; /* how many */
	uint32_t set;	/* they as a cluster_nodeset() */
	int64_t procs;	/* CPUs of all of its nodes, up or not */
};

struct cluster;

/* Makes a partition of nodes that are in none yet; before the plan is made. -EEXIST: the name is taken. -ENOSPC: there are PARTITIONS_MAX. -EINVAL: no node, a node twice or
 * already in a partition, or a machine that would be divided; the sentence says which. */
int cluster_add_partition(struct cluster *c, const char *name, const uint32_t *nodes, uint32_t n, struct err *err);
/* There are none any more, and every node is a machine of its own; before the plan is made. */
void cluster_drop_partitions(struct cluster *c);
/* The partition of that name; NULL: there is none. */
const struct partition *cluster_partition(const struct cluster *c, const char *name);
const char *cluster_partition_name(const struct cluster *c, const struct partition *p);
/* "A", "B", ... "Z", "AA", ...: what the i-th partition, from 0, is called where nobody names it. */
const char *partition_letter(uint32_t i, char buf[8]);

#endif
