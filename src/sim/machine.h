/*
 * machine.h - the machine of a simulation: flat:N (one pool of processors, as in the literature),
 * nodes:NxC, parts:N,M, or a file that lists nodes.
 */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include "base/err.h"
#include "base/vec.h"
#include "core/cluster.h"

/* Adds the nodes that `text` describes:
 *	flat:338	one pool of 338 processors
 *	nodes:40x8	40 nodes of 8 CPUs, n1 to n40
 *	nodes:40x8+2x64	and 2 of 64, n41 and n42
 *	parts:8,8,16	partitions A, B and C of 8, 8 and 16 nodes of one CPU, n1 to n32
 *	FILE		lines "node n[1-40] cpus=8 mem=16gb disk=1tb swap=4gb gpus=1 speed=1.5
 *			features=big,fast licence=2 partition=A"; # comments
 * or the text of such a file, which begins with "node ". -EINVAL otherwise. */
int machine_build(struct cluster *c, const char *text, struct err *err);

/* Nodes of equal size. */
struct machine_group {
	int64_t nodes, cpus; /* cpus: CPUs of each node */
	bool partition;	     /* they form a partition, named by a letter */
};
typedef VEC(struct machine_group) machine_groups;

/* Parses any text other than FILE without building it: its groups, which the caller frees, and
 * their totals. A flat machine is one node. */
int machine_parse(const char *text, machine_groups *ret, int64_t *ret_nodes, int64_t *ret_cpus, struct err *err);

#endif
