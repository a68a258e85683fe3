/*
 * mem.h - allocation that aborts when there is no memory, and arenas.
 *
 * No memory is not an error a caller could handle well: the process aborts, and
 * recovery from the store brings everything back.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size);			       /* never NULL */
void *mem_zalloc(size_t size);			       /* zeroed, never NULL */
void *mem_realloc(void *p, size_t count, size_t size); /* checks count * size for overflow */
char *mem_strdup(const char *s);

/* An arena owns everything allocated from it and frees it whole. */
struct arena;
struct arena *arena_create(void);
void arena_destroy(struct arena *a);
void *arena_alloc(struct arena *a, size_t size); /* zeroed, aligned for any type */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
