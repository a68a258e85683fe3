/*
 * json.c - writes JSON.
 */
#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

#define DEPTH_MAX ((int)(sizeof((struct json *)0)->more))

/* Returns the quote that ends a text, or `end`. */
static const char *text_end(const char *at, const char *end)
{
	const char *quote = memchr(at, '"', (size_t)(end - at)), *slash;

	while (quote && (slash = memchr(at, '\\', (size_t)(quote - at)))) {
		for (at = slash; at < end && *at == '\\'; at += 2)
			;
		if (at > quote) /* it is part of the text */
			quote = at < end ? memchr(at, '"', (size_t)(end - at)) : NULL;
	}
	return quote ? quote : end;
}

/* Counts ',', '[' and '{': every value but the first follows one of them. A ':' follows a key. */
bool json_is_within(const char *text, size_t n, size_t most)
{
	const char *end = text + n;
	size_t found = 0, members[DEPTH_MAX] = {0}; /* per open object; deeper ones share the last */
	int64_t depth = 0;

	if (n <= most)
		return true;
	for (const char *p = text; p < end && found <= most; p++) {
		if (*p == '"' && (p = text_end(p + 1, end)) == end)
			break;
		bool opens = *p == '[' || *p == '{', closes = *p == ']' || *p == '}';
		found += opens || *p == ',';
		depth += opens - closes;
		if (closes && depth <= 0)
			break;
		size_t *here = &members[depth < DEPTH_MAX ? depth : DEPTH_MAX - 1];
		if (opens)
			*here = 0;
		if (*p == ':' && ++*here > JSON_MEMBERS_MOST)
			return false;
	}
	return found <= most;
}

void json_init(struct json *j, struct strbuf *out, bool pretty)
{
	*j = (struct json){.out = out, .pretty = pretty};
}

void json_begin(struct json *j, struct strbuf *out)
{
	json_init(j, out, false);
	json_open_object(j, NULL);
}

static bool is_plain(char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

/* A word with the same byte eight times. */
#define EIGHT(byte) (UINT64_C(0x0101010101010101) * (byte))

static bool has_zero(uint64_t word)
{
	return (word - EIGHT(1)) & ~word & EIGHT(0x80);
}

/* Returns true if is_plain() of all eight bytes. A carry comes only from a byte that is not. */
static bool are_plain(uint64_t word)
{
	return !((word | (word - EIGHT(' ')) | (word + EIGHT(1))) & EIGHT(0x80)) && !has_zero(word ^ EIGHT('"')) &&
	       !has_zero(word ^ EIGHT('\\'));
}

/* Copies the characters that need no escape, for most texts all `most`, and returns their
 * number. */
static size_t plain_copy(char *to, const char *s, size_t most)
{
	size_t n = 0;
	uint64_t word;

	for (; most - n >= sizeof word; n += sizeof word) {
		memcpy(&word, s + n, sizeof word);
		if (!are_plain(word))
			break;
		memcpy(to + n, &word, sizeof word);
	}
	for (; n < most && is_plain(s[n]); n++)
		to[n] = s[n];
	return n;
}

/* Writes the first character of a text, which is not plain, and returns its length in bytes. */
static int escaped(struct strbuf *out, const char *s)
{
	int32_t c;
	int n = utf8_next(s, &c);

	if (c == '"' || c == '\\')
		strbuf_printf(out, "\\%c", (char)c);
	else if (c == -1)
		strbuf_puts(out, "\\ufffd");
	else if (text_harmful(c))
		text_escape(out, c);
	else
		strbuf_add(out, s, (size_t)n);
	return n;
}

static void quoted(struct strbuf *out, const char *s)
{
	const char *last = s + strlen(s);
	char *end = strbuf_room(out, (size_t)(last - s) + 2);

	*end++ = '"';
	out->n++;
	for (;;) {
		size_t n = plain_copy(end, s, (size_t)(last - s));
		s += n;
		end += n;
		out->n += n;
		if (s == last)
			break;
		s += escaped(out, s);
		end = strbuf_room(out, (size_t)(last - s) + 1);
	}
	*end++ = '"';
	*end = '\0';
	out->n++;
}

static void new_line(struct json *j)
{
	if (!j->pretty)
		return;
	strbuf_puts(j->out, "\n");
	for (int i = 0; i < j->depth; i++)
		strbuf_puts(j->out, "  ");
}

/* Writes a comma, a plain key and a colon at once, since most members begin so. Returns false for
 * any other key. */
static bool member(struct json *j, const char *key)
{
	size_t all = strlen(key);
	char *begin = strbuf_room(j->out, all + 4), *end = begin;

	if (j->more[j->depth])
		*end++ = ',';
	*end++ = '"';
	size_t n = plain_copy(end, key, all);
	if (n < all) {
		*begin = '\0';
		return false;
	}
	end += n;
	memcpy(end, "\":", 3);
	j->out->n += (size_t)(end - begin) + 2;
	j->more[j->depth] = true;
	return true;
}

/* Writes everything that precedes a value. Values at the top level are on lines of their own. */
static void element(struct json *j, const char *key)
{
	assert((j->kind[j->depth] == '{') == (key != NULL));
	if (key && !j->pretty && member(j, key))
		return;
	if (j->more[j->depth])
		strbuf_puts(j->out, j->depth ? "," : "\n");
	j->more[j->depth] = true;
	if (j->depth)
		new_line(j);
	if (key) {
		quoted(j->out, key);
		strbuf_puts(j->out, j->pretty ? ": " : ":");
	}
}

static void open_level(struct json *j, const char *key, char kind)
{
	element(j, key);
	assert(j->depth + 1 < DEPTH_MAX);
	strbuf_add(j->out, &kind, 1);
	j->depth++;
	j->kind[j->depth] = kind;
	j->more[j->depth] = false;
}

static void close_level(struct json *j, char kind, const char *text)
{
	assert(j->depth > 0 && j->kind[j->depth] == kind);

	bool any = j->more[j->depth--];
	if (any)
		new_line(j);
	strbuf_puts(j->out, text);
}

void json_open_object(struct json *j, const char *key)
{
	open_level(j, key, '{');
}

void json_close_object(struct json *j)
{
	close_level(j, '{', "}");
}

void json_open_array(struct json *j, const char *key)
{
	open_level(j, key, '[');
}

void json_close_array(struct json *j)
{
	close_level(j, '[', "]");
}

void json_text(struct json *j, const char *key, const char *value)
{
	element(j, key);
	if (value)
		quoted(j->out, value);
	else
		strbuf_puts(j->out, "null");
}

void json_word(struct json *j, const char *key, const char *word, size_t n)
{
	element(j, key);
	char *end = strbuf_room(j->out, n + 2);

	*end = '"';
	memcpy(end + 1, word, n);
	memcpy(end + 1 + n, "\"", 2);
	j->out->n += n + 2;
}

void json_int(struct json *j, const char *key, int64_t value)
{
	element(j, key);
	strbuf_int(j->out, value);
}

void json_double(struct json *j, const char *key, double value)
{
	char buf[40];

	element(j, key);
	if (!isfinite(value)) {
		strbuf_puts(j->out, "null");
		return;
	}
	if (value >= 0 && value < 1e15 && (double)(int64_t)value == value &&
	    !signbit(value)) { /* same as %.15g, in a tenth of the time */
		strbuf_int(j->out, (int64_t)value);
		return;
	}
	/* Use the shortest form that reads back the same; 15 digits are usually enough. */
	snprintf(buf, sizeof buf, "%.15g", value);
	if (strtod(buf, NULL) != value)
		snprintf(buf, sizeof buf, "%.17g", value);
	char *comma = strchr(buf, ','); /* decimal point of some locales */
	if (comma)
		*comma = '.';
	strbuf_puts(j->out, buf);
}

void json_bool(struct json *j, const char *key, bool value)
{
	element(j, key);
	strbuf_puts(j->out, value ? "true" : "false");
}

void json_raw(struct json *j, const char *key, const char *text)
{
	element(j, key);
	strbuf_puts(j->out, text);
}
