/*
 * jsonread.c - see jsonread.h.
 *
 * Reads what programs write: objects and lists of texts, integers and words. At anything else (real
 * numbers, most of \u, long keys, control characters, every error) it gives up, and jansson reads
 * the whole text again, so that there is one set of rules. jansson looks at each byte through
 * several calls; this looks at it once.
 */
#include "base/jsonread.h"

#include <stddef.h>
#include <string.h>

#include "base/jsonread_internal.h"

#define DEPTH_MOST 64  /* far below jansson's own limit */
#define DIGITS_MOST 18 /* cannot overflow */

/* ---- tokens ---- */

void jsonread_blanks(struct jsonread *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
		r->at++;
}

bool jsonread_skip(struct jsonread *r, char c)
{
	jsonread_blanks(r);
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

bool jsonread_end(struct jsonread *r)
{
	jsonread_blanks(r);
	return r->at == r->end;
}

/* Skips what stands for itself in a text: no control characters, quotes and escapes. */
static bool plain_skip(struct jsonread *r)
{
	unsigned char high = 0;

	while (r->at < r->end && (unsigned char)*r->at >= ' ' && *r->at != '"' && *r->at != '\\')
		high |= (unsigned char)*r->at++;
	return high & 0x80;
}

/* Replaces an escape of a control character other than NUL by its character, as
 * json_write() writes it. */
static bool control_take(struct jsonread *r)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	const char *low = r->at[5] ? strchr(digits, r->at[5]) : NULL;

	if (memcmp(r->at + 2, "00", 2) != 0 || (r->at[4] != '0' && r->at[4] != '1') || !low)
		return false;
	ptrdiff_t value = (low - digits < 16 ? low - digits : low - digits - 6) + (r->at[4] == '1' ? 16 : 0);
	if (value == 0)
		return false;
	strbuf_char(&r->text, (char)value);
	r->at += 6;
	return true;
}

/* Replaces an escape by its character. */
static bool escape_take(struct jsonread *r)
{
	static const char letters[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
	const char *found = r->end - r->at >= 2 && r->at[1] ? strchr(letters, r->at[1]) : NULL;

	if (r->end - r->at >= 6 && r->at[1] == 'u')
		return control_take(r);
	if (!found)
		return false;
	strbuf_add(&r->text, means + (found - letters), 1);
	r->at += 2;
	return true;
}

bool jsonread_text(struct jsonread *r, const char **ret, size_t *ret_n, bool *ret_high)
{
	const char *begin = r->at;
	bool high = plain_skip(r);
	size_t n = (size_t)(r->at - begin);

	if (r->at < r->end && *r->at == '\\') {
		strbuf_clear(&r->text);
		strbuf_add(&r->text, begin, n);
		while (r->at < r->end && *r->at == '\\') {
			if (!escape_take(r))
				return false;
			const char *next = r->at;
			high |= plain_skip(r);
			strbuf_add(&r->text, next, (size_t)(r->at - next));
		}
		begin = r->text.text;
		n = r->text.n;
	}
	*ret = begin;
	*ret_n = n;
	*ret_high = high;
	return r->at < r->end && *r->at++ == '"';
}

bool jsonread_number(struct jsonread *r, int64_t *ret)
{
	bool minus = r->at < r->end && *r->at == '-';
	const char *begin = r->at += minus;
	int64_t n = 0;

	while (r->at < r->end && *r->at >= '0' && *r->at <= '9' && r->at - begin < DIGITS_MOST)
		n = n * 10 + (*r->at++ - '0');
	if (r->at == begin || r->at == r->end || (*begin == '0' && (minus || r->at - begin > 1)) ||
	    !strchr(",]} \t\r\n", *r->at) || !*r->at)
		return false;
	*ret = minus ? -n : n;
	return true;
}

bool jsonread_word(struct jsonread *r, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(r->end - r->at) <= n || memcmp(r->at, word, n) != 0 || !strchr(",]} \t\r\n", r->at[n]))
		return false;
	r->at += n;
	return true;
}

bool jsonread_value(struct jsonread *r)
{
	int depth = 0;

	jsonread_blanks(r);
	const char *begin = r->at;
	for (; r->at < r->end && (depth > 0 || !strchr(",}]", *r->at)); r->at++) {
		if (*r->at == '"') { /* only texts can hide brackets */
			for (r->at++; r->at < r->end && *r->at != '"'; r->at++)
				r->at += *r->at == '\\' && r->end - r->at > 1;
			if (r->at == r->end)
				return false;
		}
		depth += (*r->at == '{' || *r->at == '[') - (*r->at == '}' || *r->at == ']');
	}
	return r->at > begin && r->at < r->end;
}

bool jsonread_key(struct jsonread *r, char ret[JSONREAD_KEY])
{
	const char *begin = r->at;
	bool high = plain_skip(r);
	size_t n = (size_t)(r->at - begin);

	if (high || n >= JSONREAD_KEY || r->at == r->end || *r->at++ != '"')
		return false;
	memcpy(ret, begin, n);
	ret[n] = '\0';
	return jsonread_skip(r, ':');
}

/* ---- values ---- */

static json_t *text_take(struct jsonread *r)
{
	const char *text;
	size_t n;
	bool high;

	if (!jsonread_text(r, &text, &n, &high))
		return NULL;
	/* jansson checks UTF-8 */
	return high ? json_stringn(text, n) : json_stringn_nocheck(text, n);
}

static json_t *value_take(struct jsonread *r, int depth);

static bool members_take(struct jsonread *r, json_t *object, int depth)
{
	char key[JSONREAD_KEY];

	if (jsonread_skip(r, '}'))
		return true;
	do {
		if (!jsonread_skip(r, '"') || !jsonread_key(r, key) || (r->unique && json_object_get(object, key)))
			return false;
		json_t *value = value_take(r, depth);
		if (!value || json_object_set_new_nocheck(object, key, value) < 0)
			return false;
	} while (jsonread_skip(r, ','));
	return jsonread_skip(r, '}');
}

static bool elements_take(struct jsonread *r, json_t *list, int depth)
{
	if (jsonread_skip(r, ']'))
		return true;
	do {
		json_t *value = value_take(r, depth);
		if (!value || json_array_append_new(list, value) < 0)
			return false;
	} while (jsonread_skip(r, ','));
	return jsonread_skip(r, ']');
}

/* Returns an object or a list if all of it could be read, or NULL. */
static json_t *nest_take(struct jsonread *r, bool list, int depth)
{
	json_t *ret = list ? json_array() : json_object();

	if (depth < DEPTH_MOST && (list ? elements_take : members_take)(r, ret, depth + 1))
		return ret;
	json_decref(ret);
	return NULL;
}

static json_t *value_take(struct jsonread *r, int depth)
{
	int64_t number;

	if (jsonread_skip(r, '"'))
		return text_take(r);
	if (jsonread_skip(r, '{'))
		return nest_take(r, false, depth);
	if (jsonread_skip(r, '['))
		return nest_take(r, true, depth);
	if (jsonread_word(r, "true"))
		return json_true();
	if (jsonread_word(r, "false"))
		return json_false();
	if (jsonread_word(r, "null"))
		return json_null();
	return jsonread_number(r, &number) ? json_integer(number) : NULL;
}

json_t *json_read(const char *text, size_t n, size_t flags, json_error_t *error)
{
	const size_t known = JSON_ALLOW_NUL | JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES;
	struct jsonread r = {.at = text, .end = text + n, .unique = flags & JSON_REJECT_DUPLICATES};
	json_t *ret = NULL;

	if (!(flags & ~known) && (jsonread_skip(&r, '{') || jsonread_skip(&r, '[')))
		ret = nest_take(&r, r.at[-1] == '[', 0);
	strbuf_fini(&r.text);
	if (ret && !(flags & JSON_DISABLE_EOF_CHECK) && !jsonread_end(&r)) {
		json_decref(ret);
		ret = NULL;
	}
	if (!ret)
		return json_loadb(text, n, flags, error);
	if (error) {
		*error = (json_error_t){.line = -1, .column = -1, .position = (int)(r.at - text)};
		memcpy(error->source, "<buffer>", sizeof "<buffer>");
	}
	return ret;
}

static bool is_one_of(const char *key, const char *const *list)
{
	while (*list && strcmp(*list, key) != 0)
		list++;
	return *list;
}

bool json_cut(const char *text, size_t n, const char *const *without, struct strbuf *out)
{
	struct jsonread r = {.at = text, .end = text + n};
	const char *comma = "";
	char key[JSONREAD_KEY];
	bool good = jsonread_skip(&r, '{');
	bool empty = good && jsonread_skip(&r, '}');

	strbuf_char(out, '{');
	if (good && !empty) {
		do {
			good = jsonread_skip(&r, '"');
			const char *begin = r.at - 1;
			good = good && jsonread_key(&r, key) && jsonread_value(&r);
			if (!good || is_one_of(key, without))
				continue;
			strbuf_puts(out, comma);
			strbuf_add(out, begin, (size_t)(r.at - begin));
			comma = ",";
		} while (good && jsonread_skip(&r, ','));
		good = good && jsonread_skip(&r, '}');
	}
	strbuf_char(out, '}');
	return good && jsonread_end(&r);
}
