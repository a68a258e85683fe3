/*
 * utf8.h - decodes UTF-8 one character at a time.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Stores the character at `s` (NUL-terminated) in *ret and returns its length in bytes, 0 at the
 * end. Broken, overlong and surrogate codes give -1 and a length of 1. */
int utf8_next(const char *s, int32_t *ret);
/* Decodes from `size` bytes (at least 1), in which NUL is an ordinary character. */
int utf8_decode(const char *s, size_t size, int32_t *ret);
/* Returns how many of the last bytes begin an incomplete character: 0 to 3. */
size_t utf8_unfinished(const char *s, size_t n);
/* Returns the columns on a terminal: 0 for combining marks, 2 for wide scripts and emoji. */
int utf8_columns(int32_t c);
/* Returns the columns of a text. */
int utf8_width(const char *s);

#endif
