/*
 * text.h - makes untrusted text safe to display. Only this file knows what must not reach a
 * terminal.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/strbuf.h"

enum text_shape {
	TEXT_LINE,  /* one line: newlines and tabs are escaped as well */
	TEXT_LINES, /* newlines and tabs are kept */
};

/* Returns true for characters that must not reach a terminal: controls (C0, DEL, C1), those that
 * reorder or hide text, and unusual line ends. */
bool text_harmful(int32_t c);
/* Appends a character as \n, \t, \u001b; above U+FFFF as two of them. Valid in JSON strings. */
void text_escape(struct strbuf *out, int32_t c);
/* Appends `n` bytes with everything harmful escaped, and bytes that are not UTF-8 as \x9b. Clean
 * text is unchanged, so that cleaning twice equals cleaning once. */
void text_clean(struct strbuf *out, const char *s, size_t n, enum text_shape shape);
/* Returns true if text_clean() would change nothing. */
bool text_is_clean(const char *s, size_t n, enum text_shape shape);
/* Appends a word quoted for a shell where necessary. */
void text_quote(const char *word, struct strbuf *out);
/* Prints `head` and a message, cleaned, on one line; programs use it for standard error. */
void text_print(FILE *out, const char *head, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void text_vprint(FILE *out, const char *head, const char *fmt, va_list ap) __attribute__((format(printf, 3, 0)));

#endif
