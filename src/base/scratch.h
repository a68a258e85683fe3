/*
 * scratch.h - a block of memory that is used again and again for large copies.
 *
 * What the system provides for the first time is cleared page by page, and after a fork every page that is written is copied: for a copy of 30 MB that takes longer than
 * the copy. This block stays, and no child has it.
 */
#ifndef BASE_SCRATCH_H
#define BASE_SCRATCH_H

#include <stddef.h>

/* Zeroed: it holds nothing. */
struct scratch {
	char *block;
	size_t size, used; /* bytes */
};

/* All that was taken is given back; there is room for `bytes` at least, of which each part may take SCRATCH_ALIGN - 1 more than its size. */
void scratch_begin(struct scratch *x, size_t bytes);
#define SCRATCH_ALIGN 64
void *scratch_take(struct scratch *x, size_t bytes); /* valid until the next scratch_begin() */
void scratch_fini(struct scratch *x);

#endif
