/*
 * mem.c - allocation that cannot fail, and arenas.
 *
 * An arena is a list of blocks, newest first; requests are cut from the newest.
 * What does not fit in a quarter of a block gets one of its own, placed behind
 * the newest, so that the room left in that one is not lost.
 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

#define BLOCK_SIZE 16384
#define ALIGN _Alignof(max_align_t)

static void *or_abort(void *p)
{
	if (!p) {
		fputs("out of memory\n", stderr);
		abort();
	}
	return p;
}

void *mem_alloc(size_t size)
{
	return or_abort(malloc(size ? size : 1));
}

void *mem_zalloc(size_t size)
{
	return or_abort(calloc(1, size ? size : 1));
}

void *mem_realloc(void *p, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		or_abort(NULL);
	return or_abort(realloc(p, bytes ? bytes : 1));
}

char *mem_strdup(const char *s)
{
	return or_abort(strdup(s));
}

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
	if (size > SIZE_MAX - sizeof(struct block))
		or_abort(NULL);

	struct block *b = mem_zalloc(sizeof *b + size);
	b->size = size;
	return b;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct block *b = a->newest;

	if (size > SIZE_MAX - ALIGN)
		or_abort(NULL);
	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (!b || size > b->size - b->used) {
		b = block_create(size > BLOCK_SIZE / 4 ? size : BLOCK_SIZE);
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

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = arena_alloc(a, len + 1);

	memcpy(copy, s, len);
	return copy;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	struct strbuf b = {0};
	va_list ap;

	va_start(ap, fmt);
	strbuf_vprintf(&b, fmt, ap);
	va_end(ap);

	char *text = arena_strndup(a, b.text, b.n);
	strbuf_fini(&b);
	return text;
}
