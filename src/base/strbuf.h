/*
 * strbuf.h - a growable string. {0} is empty; text is NULL or ends in NUL.
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf {
	char *text;
	size_t n, cap;
};

void strbuf_fini(struct strbuf *b);
void strbuf_grow(struct strbuf *b, size_t n); /* for strbuf_room() */
/* Makes room for `n` more characters and the NUL, and returns where they go. The caller writes them
 * and the NUL, and adds what it wrote to b->n. */
static inline char *strbuf_room(struct strbuf *b, size_t n)
{
	if (b->cap - b->n <= n)
		strbuf_grow(b, n);
	return b->text + b->n;
}
static inline void strbuf_char(struct strbuf *b, char c)
{
	char *end = strbuf_room(b, 1);

	end[0] = c;
	end[1] = '\0';
	b->n++;
}
static inline void strbuf_clear(struct strbuf *b)
{
	b->n = 0;
	if (b->text)
		b->text[0] = '\0';
}
void strbuf_add(struct strbuf *b, const char *s, size_t n);
void strbuf_puts(struct strbuf *b, const char *s);
void strbuf_blanks(struct strbuf *b, int n);  /* none if n <= 0 */
void strbuf_int(struct strbuf *b, int64_t n); /* decimal digits, several times as fast as printf */
void strbuf_printf(struct strbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vprintf(struct strbuf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
const char *strbuf_text(const struct strbuf *b); /* never NULL */

#endif
