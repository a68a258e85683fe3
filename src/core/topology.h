/*
 * topology.h - the tree of switches that connects the nodes, read from a file in the format of
 * Slurm's topology.conf:
 *
 *	SwitchName=leaf1 Nodes=n[1-16]
 *	SwitchName=leaf2 Nodes=n[17-32]
 *	SwitchName=top Switches=leaf[1-2]
 *
 * A switch has nodes (a leaf) or other switches. LinkSpeed and comments (#) are ignored. The nodes
 * it names need not exist yet.
 */
#ifndef CORE_TOPOLOGY_H
#define CORE_TOPOLOGY_H

#include <stdint.h>

#include "base/err.h"
#include "base/names.h"
#include "base/vec.h"

#define TOPOLOGY_SWITCHES_MAX 10000

struct lines;

struct switch_ {
	uint32_t parent;   /* index + 1; 0: none */
	uint32_t level;	   /* height in the tree; 0: a leaf */
	uint32_t from, to; /* range of leaves below it, as indexes into topology.leaf */
};

struct topology {
	struct names switches; /* same indexes as `v` */
	VEC(struct switch_) v;
	/* switches that are leaves, ordered so that those below one switch are adjacent */
	VEC(uint32_t) leaf;
	struct names nodes;
	VEC(uint32_t) of_node; /* index in `nodes` -> the node's leaf, as an index into `leaf` */
};

/* Reads a tree, which the caller frees. -EINVAL, with the line number, for a duplicate name, an
 * unknown switch or a cycle. */
int topology_read(struct lines *in, const char *name, struct topology **ret, struct err *err);
int topology_open(const char *path, struct topology **ret, struct err *err);
void topology_free(struct topology *t);

/* Returns a node's leaf plus one, or 0 if the file does not name the node. */
uint32_t topology_leaf(const struct topology *t, const char *node);

#endif
