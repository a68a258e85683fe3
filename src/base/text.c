/*
 * text.c - makes untrusted text safe to display.
 */
#include "base/text.h"

#include <string.h>

#include "base/utf8.h"

bool text_harmful(int32_t c)
{
	static const struct {
		int32_t from, to;
	} range[] = {
		{0x00, 0x1f},	  {0x7f, 0x9f},	    {0x61c, 0x61c},   {0x200e, 0x200f},	  {0x2028, 0x202e},
		{0x2066, 0x2069}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
	};

	if (c >= 0x20 && c < 0x7f)
		return false;
	for (size_t i = 0; i < sizeof range / sizeof *range; i++)
		if (c >= range[i].from && c <= range[i].to)
			return true;
	return false;
}

void text_escape(struct strbuf *out, int32_t c)
{
	if (c == '\n')
		strbuf_puts(out, "\\n");
	else if (c == '\t')
		strbuf_puts(out, "\\t");
	else if (c > 0xffff)
		strbuf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((unsigned)(c - 0x10000) >> 10),
			      0xdc00 + ((unsigned)(c - 0x10000) & 0x3ff));
	else
		strbuf_printf(out, "\\u%04x", (unsigned)c);
}

static bool stays(int32_t c, enum text_shape shape)
{
	return c >= 0 && (!text_harmful(c) || (shape == TEXT_LINES && (c == '\n' || c == '\t')));
}

/* Returns true if eight bytes are all printable ASCII: no byte has its highest bit set, even
 * after subtracting 0x20 (it would be below) or adding 1 (it would be 0x7f). */
static bool plain_eight(const char *s)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t w;

	memcpy(&w, s, sizeof w);
	return !((w | (w - ones * 0x20) | (w + ones)) & (ones * 0x80));
}

/* Returns the number of bytes at the beginning that need no change. */
static size_t clean_bytes(const char *s, size_t n, enum text_shape shape)
{
	size_t i = 0;
	int32_t c;

	while (i < n) {
		if (n - i >= 8 && plain_eight(s + i)) {
			i += 8;
			continue;
		}
		if ((s[i] >= ' ' && s[i] < 0x7f) || (s[i] == '\n' && shape == TEXT_LINES)) {
			i++;
			continue;
		}
		int k = utf8_decode(s + i, n - i, &c);
		if (!stays(c, shape))
			break;
		i += (size_t)k;
	}
	return i;
}

bool text_is_clean(const char *s, size_t n, enum text_shape shape)
{
	return clean_bytes(s, n, shape) == n;
}

void text_clean(struct strbuf *out, const char *s, size_t n, enum text_shape shape)
{
	int32_t c;

	while (n > 0) {
		size_t k = clean_bytes(s, n, shape);
		strbuf_add(out, s, k);
		s += k;
		n -= k;
		if (n == 0)
			break;
		k = (size_t)utf8_decode(s, n, &c);
		if (c < 0)
			strbuf_printf(out, "\\x%02x", (unsigned char)*s);
		else
			text_escape(out, c);
		s += k;
		n -= k;
	}
}

void text_vprint(FILE *out, const char *head, const char *fmt, va_list ap)
{
	struct strbuf text = {0}, clean = {0};

	strbuf_vprintf(&text, fmt, ap);
	text_clean(&clean, text.text, text.n, TEXT_LINE);
	fprintf(out, "%s%s\n", head, strbuf_text(&clean));
	strbuf_fini(&text);
	strbuf_fini(&clean);
}

void text_print(FILE *out, const char *head, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_vprint(out, head, fmt, ap);
	va_end(ap);
}

void text_quote(const char *word, struct strbuf *out)
{
	if (word[0] && !strpbrk(word, " \t\n\"'\\$`;&|<>()*?[]#~!{}")) {
		strbuf_puts(out, word);
		return;
	}
	strbuf_puts(out, "'");
	for (; *word; word++)
		if (*word == '\'')
			strbuf_puts(out, "'\\''");
		else
			strbuf_add(out, word, 1);
	strbuf_puts(out, "'");
}
