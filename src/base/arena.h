/*
 * arena.h - memory that is freed whole: an arena owns everything allocated from it.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena;
struct arena *arena_create(void);
void arena_destroy(struct arena *a);
void *arena_alloc(struct arena *a, size_t size); /* zeroed, aligned for any type */
size_t arena_used(const struct arena *a);	 /* bytes allocated so far */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
