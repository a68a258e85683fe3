/*
 * utf8.h - one character at a time out of UTF-8.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The character at `s` (NUL-terminated) into *ret, and how many bytes it takes; broken, too long and surrogate codes
 * give -1 and one byte. 0 at the end. */
int utf8_next(const char *s, int32_t *ret);
/* The same of `size` bytes (at least 1), among which NUL is a character like others. */
int utf8_decode(const char *s, size_t size, int32_t *ret);
/* How many of the last bytes begin a character whose rest may follow: 0 to 3. */
size_t utf8_unfinished(const char *s, size_t n);
/* Columns on a terminal: 0 for marks that combine, 2 for wide scripts and emoji. */
int utf8_columns(int32_t c);

#endif
