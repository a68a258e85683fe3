/*
 * base64.c - encodes bytes as text: base64 (RFC 4648, section 4) and hex.
 *
 * base64 is strict: each sequence of bytes has exactly one text. Blanks, missing padding and stray
 * bits in the last group are refused.
 */
#include "base/base64.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const void *data, size_t n, struct strbuf *out)
{
	const uint8_t *p = data;
	char *to = strbuf_room(out, (n + 2) / 3 * 4);

	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		uint32_t bits =
			(uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) | (left > 2 ? p[i + 2] : 0);
		const char group[] = {alphabet[bits >> 18], alphabet[bits >> 12 & 63],
				      left > 1 ? alphabet[bits >> 6 & 63] : '=', left > 2 ? alphabet[bits & 63] : '='};
		to = mempcpy(to, group, sizeof group);
	}
	*to = '\0';
	out->n += (n + 2) / 3 * 4;
}

/* Values of the letters, plus one; 0: not in the alphabet. */
static const uint8_t digits[256] = {
	['A'] = 1,  ['B'] = 2,	['C'] = 3,  ['D'] = 4,	['E'] = 5,  ['F'] = 6,	['G'] = 7,  ['H'] = 8,
	['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
	['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
	['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
	['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
	['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
	['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
	['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};

/* Decodes four characters into `ret`. Returns false if they are not in the alphabet. */
static bool group_decode(const char *text, char ret[3])
{
	const uint8_t a = digits[(uint8_t)text[0]], b = digits[(uint8_t)text[1]], c = digits[(uint8_t)text[2]],
		      d = digits[(uint8_t)text[3]];
	uint32_t bits = (a - 1u) << 18 | (b - 1u) << 12 | (c - 1u) << 6 | (d - 1u);

	ret[0] = (char)(bits >> 16);
	ret[1] = (char)(bits >> 8);
	ret[2] = (char)bits;
	return a && b && c && d;
}

/* Decodes the last four characters, which may be padded. Returns how many bytes, or -EINVAL. */
static int last_decode(const char *text, char ret[3])
{
	int pad = text[3] != '=' ? 0 : text[2] != '=' ? 1 : 2;
	char full[4];

	memcpy(full, text, sizeof full);
	memset(full + 4 - pad, 'A', (size_t)pad);
	if (!group_decode(full, ret) || (pad > 0 && ret[2]) || (pad > 1 && ret[1]))
		return -EINVAL;
	return 3 - pad;
}

int base64_decode(const char *text, size_t n, struct strbuf *out)
{
	char *to, last[3];
	size_t i = 0;
	int got = 0;

	if (n % 4)
		return -EINVAL;
	to = strbuf_room(out, n / 4 * 3);
	for (; i + 4 < n && group_decode(text + i, to); i += 4)
		to += 3;
	if (i + 4 < n || (n && (got = last_decode(text + i, last)) < 0)) {
		out->text[out->n] = '\0';
		return -EINVAL;
	}
	memcpy(to, last, (size_t)got);
	out->n += i / 4 * 3 + (size_t)got;
	out->text[out->n] = '\0';
	return 0;
}

void hex_encode(const void *data, size_t n, char *ret)
{
	static const char hex[] = "0123456789abcdef";
	const uint8_t *p = data;

	for (size_t i = 0; i < n; i++) {
		*ret++ = hex[p[i] >> 4];
		*ret++ = hex[p[i] & 15];
	}
	*ret = '\0';
}
