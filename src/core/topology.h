/*
 * topology.h - the tree of switches that connects the nodes, read from a file in the format of Slurm's topology.conf:
 *
 *	SwitchName=leaf1 Nodes=n[1-16]
 *	SwitchName=leaf2 Nodes=n[17-32]
 *	SwitchName=top Switches=leaf[1-2]
 *
 * A switch has nodes (a leaf) or other switches. LinkSpeed and comments (#) are passed over. Nodes that it names need not be there yet.
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
	uint32_t parent;   /* index + 1; 0: it has none */
	uint32_t level;	   /* 0: a leaf */
	uint32_t from, to; /* the leaves below it, as indexes into topology.leaf */
};

struct topology {
	struct names switches; /* by the same index as `v` */
	VEC(struct switch_) v;
	VEC(uint32_t) leaf; /* switches that are leaves, so that those of one switch follow each other */
	struct names nodes;
	VEC(uint32_t) of_node; /* by index in `nodes`: its leaf, as an index into `leaf` */
};

/* Reads one, which the caller frees. -EINVAL with the line and a sentence: a name that is there twice, a switch that is not
 * there, a circle. */
int topology_read(struct lines *in, const char *name, struct topology **ret, struct err *err);
int topology_open(const char *path, struct topology **ret, struct err *err);
void topology_free(struct topology *t);

/* The leaf of a node, plus one; 0: the file does not name it. */
uint32_t topology_leaf(const struct topology *t, const char *node);

#endif
