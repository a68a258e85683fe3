/*
 * partitions.h - the partitions that administrators define, in the configuration file or by qmgr: objects (settings/objects.h) that list nodes, laid out in the cluster (core/partition.h).
 *
 * A node is in one partition at most. A partition without nodes is defined and takes no jobs. The virtual nodes of this machine can be divided: those of a
 * partition are a machine of their own then.
 */
#ifndef SERVER_PARTITIONS_H
#define SERVER_PARTITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "rules/object.h"

struct err;
struct server;

/* Those of the configuration file, which wins over what was set before. To be called once, before they are laid out. */
void partitions_configure(struct server *s);

/* The nodes that it lists, marked in `has`, which has room for all. -EINVAL: one that is not there, or is in another partition. NULL as the error:
 * those are passed over. */
int partition_nodes(const struct server *s, const struct object *d, bool *has, struct err *err);
/* The one that a node is in; NULL: none. */
const struct object *partition_of_node(const struct server *s, uint32_t node);

/* Lays the definitions out in the cluster; before the plan is made. What specs derived from an earlier layout is old then (hosts.layout). */
void partitions_lay(struct server *s);

#endif
