/*
 * res.h - amounts of resources as vectors.
 *
 * Dimension 0 is CPUs, 1 memory in KiB, 2 GPUs, 3 shares of CPUs, 4 disk and 5 swap in KiB; the rest are named by the site
 * (licences, accelerators, ...). A cluster uses the first `nres` dimensions, so
 * that a machine of CPUs alone pays for one. Disk and swap, which almost every node has, are counted only from
 * the first request for them on (cluster_shape).
 */
#ifndef CORE_RES_H
#define CORE_RES_H

#include <stdbool.h>
#include <stdint.h>

enum res_dim { RES_CPU, RES_MEM, RES_GPU, RES_SHARE, RES_DISK, RES_SWAP, RES_NAMED, RES_MAX = 8 };

/* A node either gives whole CPUs or divides them (docs/libra.md): then it has none in the first dimension, and this many thousandths of each in RES_SHARE. So no job that asks for CPUs
 * fits there, and none with a share elsewhere. */
#define SHARE_CPU INT64_C(1000)

struct res {
	int64_t v[RES_MAX];
};

/* What is counted in KiB, by its name in sentences; NULL: something else. */
static inline const char *res_kib(int d)
{
	return d == RES_MEM ? "memory" : d == RES_DISK ? "disk" : d == RES_SWAP ? "swap" : (const char *)0;
}

/* What jobs have of a node besides numbered CPUs and GPUs, in KiB. */
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
