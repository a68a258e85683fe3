/*
 * mem.h - allocation that aborts when memory runs out.
 *
 * Callers could not handle this error well: the process aborts, and recovery from the store
 * restores everything.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size);			       /* never NULL */
void *mem_zalloc(size_t size);			       /* zeroed, never NULL */
void *mem_realloc(void *p, size_t count, size_t size); /* checks count * size for overflow */
char *mem_strdup(const char *s);

#endif
