/*
 * fence.h - a node, or a part of it, that only some jobs may use, over an interval: plan/fence.h, rules/reservation.h.
 */
#ifndef CORE_FENCE_H
#define CORE_FENCE_H

#include <stdint.h>

#include "base/vec.h"
#include "core/res.h"

struct fence {
	int64_t start, end;
	uint32_t id;	 /* the reservation: its number in cluster.reservation_names, plus 1 */
	struct res part; /* what it keeps of the node; nothing: all of it */
};

/* Returns true if a fence keeps a part of its node instead of all of it. */
static inline bool fence_parted(const struct fence *f)
{
	return !res_equal(&f->part, &(struct res){0});
}

typedef VEC(struct fence) fence_vec;

struct node_fence {
	uint32_t node;
	struct fence fence;
	int64_t keep; /* more than 0: not a node, but so many of the amount with that number (cluster.amounts) */
};

typedef VEC(struct node_fence) node_fence_vec;

#endif
