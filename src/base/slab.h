/*
 * slab.h - dense memory for many small objects of similar sizes.
 *
 * malloc() interleaves them with whatever else was allocated at the time. Reading 100,000 of them
 * in turn then misses the cache at each one; when they are dense, four of five are already cached.
 * Blocks are kept for future objects and freed only by slab_fini().
 */
#ifndef BASE_SLAB_H
#define BASE_SLAB_H

#include <stddef.h>

#define SLAB_STEP 32 /* bytes: sizes are rounded up to a multiple of it */
#define SLAB_KINDS 32

struct slab_free;

/* {0} is empty. */
struct slab {
	struct slab_free *given_back[SLAB_KINDS]; /* free objects, by size */
	struct slab_free *blocks;
	char *next; /* unused rest of the latest block */
	size_t left;
};

/* Returns zeroed memory of any size; large objects come from malloc(). */
void *slab_take(struct slab *x, size_t bytes);
/* `bytes` as in slab_take(); NULL is ignored */
void slab_give(struct slab *x, void *p, size_t bytes);
void slab_fini(struct slab *x); /* does not free large objects that were not given back */

#endif
