/*
 * varint.h - numbers in as few bytes as they need: 7 bits in each byte, the lowest first, and a bit
 * that is set if more follow. Signed numbers are folded, so that small ones of either sign are
 * short.
 */
#ifndef BASE_VARINT_H
#define BASE_VARINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

static inline void varint_add(struct strbuf *out, uint64_t n)
{
	char bytes[10];
	size_t k = 0;

	for (; n >= 0x80; n >>= 7)
		bytes[k++] = (char)(n | 0x80);
	bytes[k++] = (char)n;
	strbuf_add(out, bytes, k);
}

static inline void varint_add_signed(struct strbuf *out, int64_t n)
{
	varint_add(out, (uint64_t)n << 1 ^ (n < 0 ? UINT64_MAX : 0));
}

/* Reads a number and moves *at behind it. Returns false if it does not end before `end`, or has
 * more than 64 bits. */
static inline bool varint_take(const char **at, const char *end, uint64_t *ret)
{
	*ret = 0;
	for (int shift = 0; shift < 64 && *at < end; shift += 7) {
		unsigned char c = (unsigned char)*(*at)++;
		if (shift == 63 && c > 1)
			return false;
		*ret |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return true;
	}
	return false;
}

static inline bool varint_take_signed(const char **at, const char *end, int64_t *ret)
{
	uint64_t n;

	if (!varint_take(at, end, &n))
		return false;
	*ret = (int64_t)(n >> 1 ^ (n & 1 ? UINT64_MAX : 0));
	return true;
}

#endif
