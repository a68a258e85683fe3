/*
 * json.c - writes JSON.
 */
#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

#define DEPTH_MAX ((int)(sizeof((struct json *)0)->more))

/* Counts ',', '[' and '{': every value but the first follows one of them. */
bool json_is_within(const char *text, size_t n, size_t most)
{
	size_t found = 0;
	int64_t depth = 0;

	if (n <= most)
		return true;
	for (size_t i = 0; i < n && found <= most; i++) {
		char c = text[i];
		if (c == '"')
			for (i++; i < n && text[i] != '"'; i++)
				i += text[i] == '\\';
		found += c == ',' || c == '[' || c == '{';
		depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
		if (depth == 0 && (c == ']' || c == '}'))
			break;
	}
	return found <= most;
}

void json_init(struct json *j, struct strbuf *out, bool pretty)
{
	*j = (struct json){.out = out, .pretty = pretty};
}

/* Returns the number of characters that need no escape: for most texts, all of them. */
static size_t plain_length(const char *s)
{
	size_t n = 0;

	while (s[n] >= ' ' && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
		n++;
	return n;
}

static void quoted(struct strbuf *out, const char *s)
{
	size_t plain;
	int32_t c;

	strbuf_add(out, "\"", 1);
	for (int n = 1; n > 0; s += n) {
		plain = plain_length(s);
		strbuf_add(out, s, plain);
		s += plain;
		n = utf8_next(s, &c);
		if (n <= 0)
			break;
		if (c == '"' || c == '\\')
			strbuf_printf(out, "\\%c", (char)c);
		else if (c == -1)
			strbuf_puts(out, "\\ufffd");
		else if (text_harmful(c))
			text_escape(out, c);
		else
			strbuf_add(out, s, (size_t)n);
	}
	strbuf_puts(out, "\"");
}

static void new_line(struct json *j)
{
	if (!j->pretty)
		return;
	strbuf_puts(j->out, "\n");
	for (int i = 0; i < j->depth; i++)
		strbuf_puts(j->out, "  ");
}

#define SHORT 60

/* Writes a comma, a short plain key and a colon at once, since most members begin so. Returns
 * false for any other key. */
static bool member(struct json *j, const char *key)
{
	size_t n = plain_length(key);
	char text[SHORT + 4] = ",\"";

	if (key[n] || n > SHORT || j->pretty)
		return false;
	memcpy(text + 2, key, n);
	memcpy(text + 2 + n, "\":", 2);
	strbuf_add(j->out, j->more[j->depth] ? text : text + 1, j->more[j->depth] ? n + 4 : n + 3);
	j->more[j->depth] = true;
	return true;
}

/* Writes everything that precedes a value. Values at the top level are on lines of their own. */
static void element(struct json *j, const char *key)
{
	assert((j->kind[j->depth] == '{') == (key != NULL));
	if (key && member(j, key))
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
	strbuf_add(j->out, "\"", 1);
	strbuf_add(j->out, word, n);
	strbuf_add(j->out, "\"", 1);
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
