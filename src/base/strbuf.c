/*
 * strbuf.c - a growable string.
 */
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void strbuf_grow(struct strbuf *b, size_t n)
{
	size_t cap = b->cap ? b->cap * 2 : 64;

	while (cap - b->n <= n)
		cap *= 2;
	b->text = mem_realloc(b->text, cap, 1);
	b->cap = cap;
}

void strbuf_fini(struct strbuf *b)
{
	free(b->text);
	*b = (struct strbuf){0};
}

void strbuf_add(struct strbuf *b, const char *s, size_t n)
{
	char *end = strbuf_room(b, n);

	if (n)
		memcpy(end, s, n);
	end[n] = '\0';
	b->n += n;
}

void strbuf_puts(struct strbuf *b, const char *s)
{
	strbuf_add(b, s, strlen(s));
}

void strbuf_blanks(struct strbuf *b, int n)
{
	static const char many[] = "                                ";

	for (; n > 0; n -= (int)sizeof many - 1)
		strbuf_add(b, many, n < (int)sizeof many - 1 ? (size_t)n : sizeof many - 1);
}

void strbuf_int(struct strbuf *b, int64_t n)
{
	uint64_t rest = n < 0 ? -(uint64_t)n : (uint64_t)n;
	char buf[24];
	size_t at = sizeof buf;

	do {
		buf[--at] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (n < 0)
		buf[--at] = '-';
	strbuf_add(b, buf + at, sizeof buf - at);
}

void strbuf_vprintf(struct strbuf *b, const char *fmt, va_list ap)
{
	va_list again;

	va_copy(again, ap);
	strbuf_room(b, 0);
	int n = vsnprintf(b->text + b->n, b->cap - b->n, fmt, ap);
	if (n < 0)
		n = 0;
	if ((size_t)n >= b->cap - b->n) {
		strbuf_room(b, (size_t)n);
		vsnprintf(b->text + b->n, b->cap - b->n, fmt, again);
	}
	va_end(again);
	b->n += (size_t)n;
	b->text[b->n] = '\0';
}

void strbuf_printf(struct strbuf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf_vprintf(b, fmt, ap);
	va_end(ap);
}

const char *strbuf_text(const struct strbuf *b)
{
	return b->text ? b->text : "";
}
