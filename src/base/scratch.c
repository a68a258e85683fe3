/*
 * scratch.c - see scratch.h.
 */
#include "base/scratch.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define STEP ((size_t)4 << 20) /* bytes; the size is a multiple of this */

void scratch_begin(struct scratch *x, size_t bytes)
{
	x->used = 0;
	if (bytes <= x->size)
		return;
	scratch_fini(x);
	bytes = (bytes + bytes / 4 + STEP - 1) / STEP * STEP;
	x->block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (x->block == MAP_FAILED) {
		fputs("out of memory\n", stderr);
		abort();
	}
	x->size = bytes;
	madvise(x->block, bytes, MADV_DONTFORK);
	/* fails harmlessly where huge pages are not available */
	madvise(x->block, bytes, MADV_HUGEPAGE);
}

void *scratch_take(struct scratch *x, size_t bytes)
{
	void *p = x->block + x->used;

	bytes = (bytes + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
	assert(bytes <= x->size - x->used);
	x->used += bytes;
	return p;
}

void scratch_fini(struct scratch *x)
{
	if (x->block)
		munmap(x->block, x->size);
	*x = (struct scratch){0};
}
