/*
 * slab.c - free lists by size, and blocks that are cut from the front. AddressSanitizer is informed
 * about unused memory.
 */
#include "base/slab.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN
#endif
#endif
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#define BLOCK 65536

struct slab_free {
	struct slab_free *next;
};

static size_t kind_of(size_t bytes)
{
	return bytes ? (bytes - 1) / SLAB_STEP : 0;
}

static void block_add(struct slab *x)
{
	struct slab_free *block = mem_alloc(BLOCK);

	block->next = x->blocks;
	x->blocks = block;
	x->next = (char *)block + SLAB_STEP; /* keeps objects aligned */
	x->left = BLOCK - SLAB_STEP;
	ASAN_POISON_MEMORY_REGION(x->next, x->left);
}

void *slab_take(struct slab *x, size_t bytes)
{
	size_t kind = kind_of(bytes), size = (kind + 1) * SLAB_STEP;
	struct slab_free *p;

	if (kind >= SLAB_KINDS)
		return mem_zalloc(bytes);
	p = x->given_back[kind];
	if (!p && x->left < size)
		block_add(x);
	if (p) {
		ASAN_UNPOISON_MEMORY_REGION(p, size);
		x->given_back[kind] = p->next;
	} else {
		p = (void *)x->next;
		x->next += size;
		x->left -= size;
	}
	ASAN_UNPOISON_MEMORY_REGION(p, bytes);
	memset(p, 0, bytes);
	ASAN_POISON_MEMORY_REGION((char *)p + bytes, size - bytes);
	return p;
}

void slab_give(struct slab *x, void *p, size_t bytes)
{
	size_t kind = kind_of(bytes);
	struct slab_free *f = p;

	if (!p)
		return;
	if (kind >= SLAB_KINDS) {
		free(p);
		return;
	}
	ASAN_UNPOISON_MEMORY_REGION(p, (kind + 1) * SLAB_STEP);
	f->next = x->given_back[kind];
	x->given_back[kind] = f;
	ASAN_POISON_MEMORY_REGION(p, (kind + 1) * SLAB_STEP);
}

void slab_fini(struct slab *x)
{
	while (x->blocks) {
		struct slab_free *block = x->blocks;
		ASAN_UNPOISON_MEMORY_REGION(block, BLOCK);
		x->blocks = block->next;
		free(block);
	}
	*x = (struct slab){0};
}
