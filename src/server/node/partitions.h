/*
 * partitions.h - partitions defined by administrators, in the configuration file or by qmgr:
 * objects (settings/objects.h) that list nodes, laid out in the cluster (core/partition.h).
 *
 * A node is in at most one partition. A partition without nodes is defined but takes no jobs. The
 * virtual nodes of this machine can be divided: those of a partition are then a machine of their
 * own.
 */
#ifndef SERVER_PARTITIONS_H
#define SERVER_PARTITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "rules/object.h"

struct server;

/* Applies the partitions of the configuration file, which override earlier settings. To be
 * called once, before they are laid out. */
void partitions_configure(struct server *s);

/* Marks the nodes it lists in `has`, which must have an element for each node. -EINVAL: a node
 * does not exist or is in another partition. With a NULL err such nodes are skipped. */
int partition_nodes(const struct server *s, const struct object *d, bool *has, struct err *err);
/* Returns the partition of a node; NULL: none. */
const struct object *partition_of_node(const struct server *s, uint32_t node);

/* Lays the definitions out in the cluster, before the plan is made. Data that specs derived from
 * an earlier layout is then stale (hosts.layout). */
void partitions_lay(struct server *s);

#endif
