/*
 * res.h - amounts of resources as vectors.
 *
 * Dimension 0 is CPUs, 1 memory in KiB, 2 GPUs; the rest are named by the site
 * (licences, accelerators, ...). A cluster uses the first `nres` dimensions, so
 * that a machine of CPUs alone pays for one.
 */
#ifndef CORE_RES_H
#define CORE_RES_H

#include <stdbool.h>
#include <stdint.h>

enum res_dim { RES_CPU, RES_MEM, RES_GPU, RES_NAMED, RES_MAX = 8 };

struct res {
	int64_t v[RES_MAX];
};

static inline bool res_covers(const struct res *have, const struct res *need)
{
	for (int i = 0; i < RES_MAX; i++)
		if (have->v[i] < need->v[i])
			return false;
	return true;
}

static inline void res_add(struct res *a, const struct res *b)
{
	for (int i = 0; i < RES_MAX; i++)
		a->v[i] += b->v[i];
}

static inline void res_sub(struct res *a, const struct res *b)
{
	for (int i = 0; i < RES_MAX; i++)
		a->v[i] -= b->v[i];
}

static inline bool res_equal(const struct res *a, const struct res *b)
{
	for (int i = 0; i < RES_MAX; i++)
		if (a->v[i] != b->v[i])
			return false;
	return true;
}

#endif
