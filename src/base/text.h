/*
 * text.h - text that others wrote, made fit to be shown: the one place that knows what a terminal must not get.
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
	TEXT_LINE,  /* one line: newlines and tabs are escaped, too */
	TEXT_LINES, /* newlines and tabs remain */
};

/* Whether a character must not reach a terminal: controls (C0, DEL, C1), what reorders or hides text, other line ends. */
bool text_harmful(int32_t c);
/* Appends a character as \n, \t, \u001b; above U+FFFF as two of them. Valid in JSON strings. */
void text_escape(struct strbuf *out, int32_t c);
/* Appends `n` bytes with everything harmful escaped, and bytes that are not UTF-8 as \x9b. Clean text remains as it is,
 * so that cleaning twice is the same as cleaning once. */
void text_clean(struct strbuf *out, const char *s, size_t n, enum text_shape shape);
/* Whether text_clean() would change nothing. */
bool text_is_clean(const char *s, size_t n, enum text_shape shape);
/* Appends a word as a shell takes it: in quotes where it needs them. */
void text_quote(const char *word, struct strbuf *out);
/* Prints `head` and a sentence, cleaned, on one line: what programs say on standard error. */
void text_print(FILE *out, const char *head, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void text_vprint(FILE *out, const char *head, const char *fmt, va_list ap) __attribute__((format(printf, 3, 0)));

#endif
