/*
 * scratch.h - a block of memory that is reused for large copies.
 *
 * The system clears fresh memory page by page, and after a fork every page written is copied: for a
 * copy of 30 MB that takes longer than the copy itself. This block is kept, and children do not
 * inherit it.
 */
#ifndef BASE_SCRATCH_H
#define BASE_SCRATCH_H

#include <stddef.h>

/* {0} is empty. */
struct scratch {
	char *block;
	size_t size, used; /* bytes */
};

/* Takes back everything and makes room for at least `bytes`. Count up to SCRATCH_ALIGN - 1 bytes
 * more for each part. */
void scratch_begin(struct scratch *x, size_t bytes);
#define SCRATCH_ALIGN 64
void *scratch_take(struct scratch *x, size_t bytes); /* valid until the next scratch_begin() */
void scratch_fini(struct scratch *x);

#endif
