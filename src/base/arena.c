/*
 * arena.c - memory that is freed whole.
 *
 * An arena is a list of blocks, newest first; requests are cut from the newest. A request larger
 * than a quarter of the largest block gets a block of its own, placed behind the newest, so that
 * the space left in the newest is not lost.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BLOCK_FIRST 1024 /* bytes: small, because most arenas hold little and blocks are zeroed */
#define BLOCK_MOST 16384 /* bytes: each further block is twice as large, up to this */
#define ALIGN _Alignof(max_align_t)

struct block {
	struct block *next;
	size_t used, size; /* bytes of data */
	_Alignas(max_align_t) char data[];
};

struct arena {
	struct block *newest;
};

struct arena *arena_create(void)
{
	return mem_zalloc(sizeof(struct arena));
}

void arena_destroy(struct arena *a)
{
	if (!a)
		return;
	for (struct block *b = a->newest, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(a);
}

static struct block *block_create(size_t size)
{
	struct block *b =
		mem_zalloc(size > SIZE_MAX - sizeof *b ? SIZE_MAX : sizeof *b + size); /* aborts at SIZE_MAX */

	b->size = size;
	return b;
}

/* Returns the size of the block from which a request is cut. */
static size_t block_size(const struct arena *a, size_t request)
{
	size_t size = a->newest ? 2 * a->newest->size : BLOCK_FIRST;

	if (request > BLOCK_MOST / 4)
		return request;
	while (size < 4 * request)
		size *= 2;
	return size < BLOCK_MOST ? size : BLOCK_MOST;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct block *b = a->newest;

	if (size > SIZE_MAX - ALIGN)
		size = SIZE_MAX - ALIGN; /* block_create() aborts at that size */
	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (!b || size > b->size - b->used) {
		b = block_create(block_size(a, size));
		if (a->newest && b->size == size) {
			b->next = a->newest->next;
			a->newest->next = b;
		} else {
			b->next = a->newest;
			a->newest = b;
		}
	}
	void *p = b->data + b->used;
	b->used += size;
	return p;
}

size_t arena_used(const struct arena *a)
{
	size_t sum = 0;

	for (const struct block *b = a->newest; b; b = b->next)
		sum += b->used;
	return sum;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = arena_alloc(a, len + 1);

	memcpy(copy, s, len);
	return copy;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	char here[256];
	va_list ap;

	va_start(ap, fmt);
	if (!strcmp(fmt, "%s")) { /* a copy: many times faster */
		const char *s = va_arg(ap, const char *);
		va_end(ap);
		return arena_strndup(a, s, strlen(s));
	}
	int n = vsnprintf(here, sizeof here, fmt, ap);
	va_end(ap);
	if (n < (int)sizeof here)
		return arena_strndup(a, here, n < 0 ? 0 : (size_t)n);

	char *text = arena_alloc(a, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(text, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return text;
}
