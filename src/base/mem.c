/*
 * mem.c - allocation that cannot fail.
 */
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
