/*
 * res.h - amounts of resources as vectors.
 *
 * Dimension 0 is CPUs, 1 memory in KiB, 2 GPUs, 3 shares of CPUs, 4 disk and 5 swap in KiB; the
 * others are named by the site (accelerators, ...). A cluster uses the first `nres` dimensions, so
 * that a cluster with only CPUs pays for one. Almost every node has disk and swap, so these are
 * counted only after the first request for them (cluster_shape).
 */
#ifndef CORE_RES_H
#define CORE_RES_H

#include <stdbool.h>
#include <stdint.h>

enum res_dim { RES_CPU, RES_MEM, RES_GPU, RES_SHARE, RES_DISK, RES_SWAP, RES_NAMED, RES_MAX = 8 };

/* A node either offers whole CPUs or divides them (docs/libra.md). A divided node has none in
 * RES_CPU and this many thousandths per CPU in RES_SHARE, so jobs that request CPUs do not fit
 * there, and jobs with a share fit nowhere else. */
#define SHARE_CPU INT64_C(1000)

struct res {
	int64_t v[RES_MAX];
};

/* Returns the name, for messages, of a dimension counted in KiB; NULL for any other. */
static inline const char *res_kib(int d)
{
	return d == RES_MEM ? "memory" : d == RES_DISK ? "disk" : d == RES_SWAP ? "swap" : (const char *)0;
}

/* Resources of a node that have no numbered units, unlike CPUs and GPUs, in KiB. */
struct kib {
	int64_t memory, disk, swap;
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
