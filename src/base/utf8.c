/*
 * utf8.c - decoding, and widths from a coarse table. wcwidth() is more precise, but only in a UTF-8
 * locale.
 */
#include "base/utf8.h"

int utf8_decode(const char *s, size_t size, int32_t *ret)
{
	static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *p = (const unsigned char *)s;
	int n = *p < 0x80 ? 1 : *p >> 5 == 6 ? 2 : *p >> 4 == 14 ? 3 : *p >> 3 == 30 ? 4 : 0;

	*ret = *p;
	if (n == 1)
		return 1;

	int32_t c = n ? *p & (0x7f >> n) : 0;
	for (int i = 1; i < n; i++) {
		if ((size_t)i >= size || p[i] >> 6 != 2) {
			n = 0;
			break;
		}
		c = c << 6 | (p[i] & 0x3f);
	}
	if (n == 0 || c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
		*ret = -1;
		return 1;
	}
	*ret = c;
	return n;
}

int utf8_next(const char *s, int32_t *ret)
{
	int n = utf8_decode(s, 4, ret);

	return *s ? n : 0;
}

size_t utf8_unfinished(const char *s, size_t n)
{
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		unsigned char c = (unsigned char)s[n - back];
		if (c >> 6 != 2)
			return c >= 0xc0 && c < 0xf8 && back < (c < 0xe0 ? 2u : c < 0xf0 ? 3u : 4u) ? back : 0;
	}
	return 0;
}

int utf8_columns(int32_t c)
{
	static const struct {
		int32_t from, to;
		int columns;
	} range[] = {
		{0x300, 0x36f, 0},     {0x200b, 0x200f, 0},   {0x20d0, 0x20ff, 0},   {0xfe00, 0xfe0f, 0},
		{0xfe20, 0xfe2f, 0},   {0x1100, 0x115f, 2},   {0x2e80, 0x303e, 2},   {0x3041, 0xa4cf, 2},
		{0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},
		{0xffe0, 0xffe6, 2},   {0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1f9ff, 2},
		{0x20000, 0x3fffd, 2},
	};

	for (size_t i = 0; i < sizeof range / sizeof *range; i++)
		if (c >= range[i].from && c <= range[i].to)
			return range[i].columns;
	return 1;
}

int utf8_width(const char *s)
{
	int32_t c;
	int width = 0;

	for (; *s && (unsigned char)*s < 0x80; s++)
		width++;
	for (int n; (n = utf8_next(s, &c)) > 0; s += n)
		width += utf8_columns(c);
	return width;
}
