/*
 * partitions.h - the partitions that administrators define, in the configuration file or by qmgr: names of nodes, kept by the store, and laid out in the cluster (core/partition.h).
 *
 * A node is in one partition at most. A partition without nodes is defined and takes no jobs. The virtual nodes of this machine can be divided: those of a
 * partition are a machine of their own then.
 */
#ifndef SERVER_PARTITIONS_H
#define SERVER_PARTITIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "rules/attr.h"

struct err;
struct server;

struct partition_def {
	char *name;
	struct attrs attrs;
	bool fixed; /* its nodes are those of the configuration file */
};

struct partition_def *partition_find(const struct server *s, const char *name); /* NULL: there is none */
/* A new one, without nodes. -EINVAL: its name. Error code BAD_STATE: there is one of that name, or as many as there can be. */
int partition_create(struct server *s, const char *name, struct err *err);
void partition_destroy(struct server *s, struct partition_def *d);
int partition_restore(struct server *s, const char *name, const json_t *o, struct err *err); /* at recovery */
/* Those of the configuration file, which wins over what was set before. To be called once, before they are laid out. */
void partitions_configure(struct server *s);
void partition_store(struct server *s, const struct partition_def *d);

/* The nodes that it lists, marked in `has`, which has room for all. -EINVAL: one that is not there, or is in another partition. NULL as the error:
 * those are passed over. */
int partition_nodes(const struct server *s, const struct partition_def *d, bool *has, struct err *err);
/* The one that a node is in; NULL: none. */
const struct partition_def *partition_of_node(const struct server *s, uint32_t node);

/* Lays the definitions out in the cluster; before the plan is made. What specs derived from an earlier layout is old then (hosts.layout). */
void partitions_lay(struct server *s);

#endif
