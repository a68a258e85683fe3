/*
 * partition.h - fixed partitions: named sets of nodes that a job holds as a whole.
 *
 * A node is in at most one partition; nodes outside partitions are shared by jobs as on any
 * cluster. In the plan a partition works like a machine with several nodes: a ring of peers that a
 * job with WHOLE_HOST takes entirely. So no second kind of booking is needed: the nodes of one
 * machine belong to one partition, and every job on a partition has WHOLE_HOST and runs in one
 * partition only.
 *
 * rules/partition.h decides which partitions suit a job.
 */
#ifndef CORE_PARTITION_H
#define CORE_PARTITION_H

#include <stdint.h>

#include "base/err.h"

#define PARTITIONS_MAX 1000 /* per cluster */
/* node.partition outside partitions; inside, it is an index into cluster.partitions plus one. */
#define PARTITION_NONE 0

struct partition {
	uint32_t name;	/* index in cluster.partition_names; equals its own index */
	int32_t first;	/* first node; the others follow by node.peer */
	uint32_t nodes; /* number of nodes */
	uint32_t set;	/* the nodes as a cluster_nodeset() */
	int64_t procs;	/* CPUs of all its nodes, up or down */
};

struct cluster;

/* Makes a partition of nodes that are in none yet. Call before the plan is made. -EEXIST: the
 * name is taken. -ENOSPC: there are PARTITIONS_MAX. -EINVAL: no node, a node twice or already in
 * a partition, or a machine that would be split; the message says which. */
int cluster_add_partition(struct cluster *c, const char *name, const uint32_t *nodes, uint32_t n, struct err *err);
/* Removes all partitions and makes every node a machine of its own. Call before the plan is
 * made. */
void cluster_drop_partitions(struct cluster *c);
/* Returns the partition of that name, or NULL. */
const struct partition *cluster_partition(const struct cluster *c, const char *name);
const char *cluster_partition_name(const struct cluster *c, const struct partition *p);
/* Returns the default name of the i-th partition, from 0: "A", "B", ... "Z", "AA", ... */
const char *partition_letter(uint32_t i, char buf[8]);

#endif
