/*
 * slab.h - memory for many small objects of similar sizes, one beside the other.
 *
 * malloc() puts between them what was needed at the same time. To read 100,000 of them in turn then waits for memory at each; when they are dense, four of five are
 * there already. Blocks are kept for objects to come, and not given back before slab_fini().
 */
#ifndef BASE_SLAB_H
#define BASE_SLAB_H

#include <stddef.h>

#define SLAB_STEP 32 /* bytes: sizes are rounded up to a multiple of it */
#define SLAB_KINDS 32

struct slab_free;

/* Zeroed: it has nothing. */
struct slab {
	struct slab_free *given_back[SLAB_KINDS]; /* by size */
	struct slab_free *blocks;
	char *next; /* what has never been used of the latest block */
	size_t left;
};

void *slab_take(struct slab *x, size_t bytes);	       /* zeroed; of any size, but large ones are malloc()'s */
void slab_give(struct slab *x, void *p, size_t bytes); /* back, with the size it was taken for; NULL is nothing */
void slab_fini(struct slab *x);			       /* of the large ones only those that were given back */

#endif
