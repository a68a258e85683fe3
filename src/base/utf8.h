/*
 * utf8.h - one character at a time out of UTF-8.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdint.h>

/* The character at `s` (NUL-terminated) into *ret, and how many bytes it takes; broken, too long and surrogate codes
 * give -1 and one byte. 0 at the end. */
int utf8_next(const char *s, int32_t *ret);
/* Columns on a terminal: 0 for marks that combine, 2 for wide scripts and emoji. */
int utf8_columns(int32_t c);

/* In place: what could begin another line, or play tricks on a terminal, becomes '?', and so does what is no UTF-8. */
void utf8_harmless(char *s);

#endif
