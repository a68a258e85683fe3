/*
 * fence.h - an interval in which only some jobs may use a node or a part of it (plan/fence.h,
 * rules/reservation.h).
 */
#ifndef CORE_FENCE_H
#define CORE_FENCE_H

#include <stdint.h>

#include "base/vec.h"
#include "core/res.h"

struct fence {
	int64_t start, end;
	uint32_t id;	 /* the reservation: its index in cluster.reservation_names plus 1 */
	struct res part; /* part of the node that is reserved; all zero: the whole node */
};

/* Returns true if a fence reserves a part of its node rather than all of it. */
static inline bool fence_parted(const struct fence *f)
{
	return !res_equal(&f->part, &(struct res){0});
}

typedef VEC(struct fence) fence_vec;

struct node_fence {
	uint32_t node;
	struct fence fence;
	/* if > 0, the fence reserves this much of cluster.amounts.v[node] instead of a node */
	int64_t keep;
};

typedef VEC(struct node_fence) node_fence_vec;

#endif
