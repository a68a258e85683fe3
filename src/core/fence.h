/*
 * fence.h - a node that only some jobs may use, over an interval: plan/fence.h, rules/reservation.h.
 */
#ifndef CORE_FENCE_H
#define CORE_FENCE_H

#include <stdint.h>

#include "base/vec.h"

struct fence {
	int64_t start, end;
	uint32_t id; /* of a reservation: its number in cluster.reservation_names, + 1 */
};

typedef VEC(struct fence) fence_vec;

struct node_fence {
	uint32_t node;
	struct fence fence;
	int64_t keep; /* more than 0: not a node, but so many of the amount with that number (cluster.amounts) */
};

typedef VEC(struct node_fence) node_fence_vec;

#endif
