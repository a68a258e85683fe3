/*
 * base64.c - encodes bytes that JSON cannot hold as text (RFC 4648, section 4).
 *
 * Strict: each sequence of bytes has exactly one text. Blanks, missing padding and stray bits in
 * the last group are refused.
 */
#include "base/base64.h"

#include <errno.h>
#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const void *data, size_t n, struct strbuf *out)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		uint32_t bits =
			(uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) | (left > 2 ? p[i + 2] : 0);
		char group[4] = {alphabet[bits >> 18], alphabet[bits >> 12 & 63], '=', '='};
		if (left > 1)
			group[2] = alphabet[bits >> 6 & 63];
		if (left > 2)
			group[3] = alphabet[bits & 63];
		strbuf_add(out, group, sizeof group);
	}
}

static int digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes four characters into `ret`. Returns the number of bytes, or -EINVAL. Only the last
 * group may be padded. */
static int group_decode(const char *text, int last, char ret[3])
{
	int pad = !last || text[3] != '=' ? 0 : text[2] != '=' ? 1 : 2;
	uint32_t bits = 0;

	for (int i = 0; i < 4; i++) {
		int d = i < 4 - pad ? digit(text[i]) : 0;
		if (d < 0)
			return -EINVAL;
		bits = bits << 6 | (uint32_t)d;
	}
	if (bits & ((1u << 8 * pad) - 1))
		return -EINVAL;
	ret[0] = (char)(bits >> 16);
	ret[1] = (char)(bits >> 8);
	ret[2] = (char)bits;
	return 3 - pad;
}

int base64_decode(const char *text, size_t n, struct strbuf *out)
{
	size_t before = out->n;
	char bytes[3];

	if (n % 4)
		return -EINVAL;
	for (size_t i = 0; i < n; i += 4) {
		int got = group_decode(text + i, i + 4 == n, bytes);
		if (got < 0) {
			out->n = before;
			if (out->text)
				out->text[before] = '\0';
			return got;
		}
		strbuf_add(out, bytes, (size_t)got);
	}
	return 0;
}
