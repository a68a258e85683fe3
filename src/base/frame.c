/*
 * frame.c - encodes and decodes frames.
 */
#include "base/frame.h"

#include <errno.h>

static size_t number_read(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
}

static void number_put(struct strbuf *out, size_t n)
{
	const unsigned char b[4] = {(unsigned char)(n >> 24), (unsigned char)(n >> 16), (unsigned char)(n >> 8),
				    (unsigned char)n};

	strbuf_add(out, (const char *)b, sizeof b);
}

ssize_t frame_next(const char *buf, size_t n, size_t most, const char **ret_head, size_t *ret_nhead,
		   const char **ret_data, size_t *ret_n)
{
	size_t rest, head;

	if (n < 4)
		return 0;
	rest = number_read(buf);
	if (rest > most)
		return -EMSGSIZE;
	if (rest < 4 + 2) /* at least "{}" */
		return -EINVAL;
	if (n >= 8 && number_read(buf + 4) > rest - 4) /* refuse before the rest has arrived */
		return -EINVAL;
	if (n < 4 + rest)
		return 0;
	head = number_read(buf + 4);
	*ret_head = buf + 8;
	*ret_nhead = head;
	*ret_data = buf + 8 + head;
	*ret_n = rest - 4 - head;
	return (ssize_t)(4 + rest);
}

void frame_begin(struct strbuf *out, const char *head, size_t nhead, size_t n)
{
	number_put(out, 4 + nhead + n);
	number_put(out, nhead);
	strbuf_add(out, head, nhead);
}

void frame_put(struct strbuf *out, const char *head, size_t nhead, const void *data, size_t n)
{
	frame_begin(out, head, nhead, n);
	if (n)
		strbuf_add(out, data, n);
}
