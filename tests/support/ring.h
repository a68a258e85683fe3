/*
 * ring.h - puts nodes on one machine, two at a time.
 */
#ifndef TESTS_RING_H
#define TESTS_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/cluster.h"

/* Declares that two nodes, and all nodes on their machines, are on one machine. */
static inline void ring_join(struct cluster *c, uint32_t a, uint32_t b)
{
	bool *has = mem_zalloc((c->nodes.n + 1) * sizeof *has);

	for (uint32_t n = 0; n < c->nodes.n; n++)
		has[n] = c->nodes.v[n].ring == c->nodes.v[a].ring || c->nodes.v[n].ring == c->nodes.v[b].ring;
	cluster_make_ring(c, has);
	free(has);
}

#endif
