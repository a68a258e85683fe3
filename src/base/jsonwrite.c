/*
 * jsonwrite.c - see jsonwrite.h.
 */
#include "base/jsonwrite.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_plain(char c)
{
	return (unsigned char)c >= ' ' && c != '"' && c != '\\';
}

/* Writes an escape and returns its length, at most 6. */
static size_t escape_write(char c, char *to)
{
	static const char letters[] = "\"\\\b\f\n\r\t", means[] = "\"\\bfnrt", digits[] = "0123456789ABCDEF";
	const char *found = c ? strchr(letters, c) : NULL;

	if (found) {
		to[0] = '\\';
		to[1] = means[found - letters];
		return 2;
	}
	memcpy(to, "\\u00", 4);
	to[4] = digits[c >> 4];
	to[5] = digits[c & 15];
	return 6;
}

size_t json_text_size(const char *s, size_t n)
{
	size_t sum = 0;
	char buffer[6];

	for (size_t i = 0; i < n; i++)
		sum += is_plain(s[i]) ? 1 : escape_write(s[i], buffer);
	return sum;
}

static void text_write(const char *s, size_t n, struct strbuf *out)
{
	const char *end = s + n;

	strbuf_char(out, '"');
	while (s < end) {
		const char *from = s;
		while (s < end && is_plain(*s))
			s++;
		strbuf_add(out, from, (size_t)(s - from));
		if (s < end)
			out->n += escape_write(*s++, strbuf_room(out, 6));
	}
	strbuf_add(out, "\"", 1);
}

static void members_write(const json_t *object, struct strbuf *out)
{
	const char *key;
	json_t *v;
	size_t i = 0;

	json_object_foreach((json_t *)object, key, v)
	{
		if (i++)
			strbuf_char(out, ',');
		text_write(key, strlen(key), out);
		strbuf_char(out, ':');
		json_write(v, out);
	}
}

void json_write(const json_t *v, struct strbuf *out)
{
	const json_t *x;
	size_t i;

	if (json_is_string(v)) {
		text_write(json_string_value(v), json_string_length(v), out);
	} else if (json_is_object(v)) {
		strbuf_char(out, '{');
		members_write(v, out);
		strbuf_char(out, '}');
	} else if (json_is_array(v)) {
		strbuf_char(out, '[');
		json_array_foreach((json_t *)v, i, x)
		{
			if (i)
				strbuf_char(out, ',');
			json_write(x, out);
		}
		strbuf_char(out, ']');
	} else {
		char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
		strbuf_puts(out, text);
		free(text);
	}
}
