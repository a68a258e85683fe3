/*
 * jsonread.c - see jsonread.h.
 *
 * Reads what programs write: objects and lists of texts, integers and words. At anything else (real
 * numbers, \u, long keys, control characters, every error) it gives up, and jansson reads the whole
 * text again, so that there is one set of rules. jansson looks at each byte through several calls;
 * this looks at it once.
 */
#include "base/jsonread.h"

#include <stdbool.h>
#include <string.h>

#include "base/strbuf.h"

#define KEY_MOST 63    /* bytes */
#define DEPTH_MOST 64  /* far below jansson's own limit */
#define DIGITS_MOST 18 /* cannot overflow */

struct reader {
	const char *at, *end;
	bool unique;	    /* a key may not appear twice in an object */
	struct strbuf text; /* a text with its escapes replaced */
};

static void blanks_skip(struct reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
		r->at++;
}

/* Skips a character and the blanks in front of it. */
static bool skip(struct reader *r, char c)
{
	blanks_skip(r);
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

/* Skips what stands for itself in a text: no control characters, quotes and escapes. */
static bool plain_skip(struct reader *r)
{
	unsigned char high = 0;

	while (r->at < r->end && (unsigned char)*r->at >= ' ' && *r->at != '"' && *r->at != '\\')
		high |= (unsigned char)*r->at++;
	return high & 0x80;
}

/* Replaces an escape by its character. */
static bool escape_take(struct reader *r)
{
	static const char letters[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
	const char *found = r->end - r->at >= 2 && r->at[1] ? strchr(letters, r->at[1]) : NULL;

	if (!found)
		return false;
	strbuf_add(&r->text, means + (found - letters), 1);
	r->at += 2;
	return true;
}

/* Reads a text after its opening quote. */
static json_t *text_take(struct reader *r)
{
	const char *begin = r->at;
	bool high = plain_skip(r);
	size_t n = (size_t)(r->at - begin);

	if (r->at < r->end && *r->at == '\\') {
		strbuf_clear(&r->text);
		strbuf_add(&r->text, begin, n);
		while (r->at < r->end && *r->at == '\\') {
			if (!escape_take(r))
				return NULL;
			const char *next = r->at;
			high |= plain_skip(r);
			strbuf_add(&r->text, next, (size_t)(r->at - next));
		}
		begin = r->text.text;
		n = r->text.n;
	}
	if (r->at == r->end || *r->at++ != '"')
		return NULL;
	/* jansson checks UTF-8 */
	return high ? json_stringn(begin, n) : json_stringn_nocheck(begin, n);
}

static json_t *number_take(struct reader *r)
{
	bool minus = r->at < r->end && *r->at == '-';
	const char *begin = r->at += minus;
	json_int_t n = 0;

	while (r->at < r->end && *r->at >= '0' && *r->at <= '9' && r->at - begin < DIGITS_MOST)
		n = n * 10 + (*r->at++ - '0');
	if (r->at == begin || r->at == r->end || (*begin == '0' && (minus || r->at - begin > 1)) ||
	    !strchr(",]} \t\r\n", *r->at) || !*r->at)
		return NULL;
	return json_integer(minus ? -n : n);
}

static bool word_take(struct reader *r, const char *word, size_t n)
{
	if ((size_t)(r->end - r->at) <= n || memcmp(r->at, word, n) != 0 || !strchr(",]} \t\r\n", r->at[n]))
		return false;
	r->at += n;
	return true;
}

/* Reads a key after its opening quote, and the colon. */
static bool key_take(struct reader *r, char *ret)
{
	const char *begin = r->at;
	bool high = plain_skip(r);
	size_t n = (size_t)(r->at - begin);

	if (high || n > KEY_MOST || r->at == r->end || *r->at++ != '"')
		return false;
	memcpy(ret, begin, n);
	ret[n] = '\0';
	return skip(r, ':');
}

static json_t *value_take(struct reader *r, int depth);

static bool members_take(struct reader *r, json_t *object, int depth)
{
	char key[KEY_MOST + 1];

	if (skip(r, '}'))
		return true;
	do {
		if (!skip(r, '"') || !key_take(r, key) || (r->unique && json_object_get(object, key)))
			return false;
		json_t *value = value_take(r, depth);
		if (!value || json_object_set_new_nocheck(object, key, value) < 0)
			return false;
	} while (skip(r, ','));
	return skip(r, '}');
}

static bool elements_take(struct reader *r, json_t *list, int depth)
{
	if (skip(r, ']'))
		return true;
	do {
		json_t *value = value_take(r, depth);
		if (!value || json_array_append_new(list, value) < 0)
			return false;
	} while (skip(r, ','));
	return skip(r, ']');
}

/* Returns an object or a list if all of it could be read, or NULL. */
static json_t *nest_take(struct reader *r, bool list, int depth)
{
	json_t *ret = list ? json_array() : json_object();

	if (depth < DEPTH_MOST && (list ? elements_take : members_take)(r, ret, depth + 1))
		return ret;
	json_decref(ret);
	return NULL;
}

static json_t *value_take(struct reader *r, int depth)
{
	if (skip(r, '"'))
		return text_take(r);
	if (skip(r, '{'))
		return nest_take(r, false, depth);
	if (skip(r, '['))
		return nest_take(r, true, depth);
	if (word_take(r, "true", 4))
		return json_true();
	if (word_take(r, "false", 5))
		return json_false();
	if (word_take(r, "null", 4))
		return json_null();
	return number_take(r);
}

json_t *json_read(const char *text, size_t n, size_t flags, json_error_t *error)
{
	const size_t known = JSON_ALLOW_NUL | JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES;
	struct reader r = {.at = text, .end = text + n, .unique = flags & JSON_REJECT_DUPLICATES};
	json_t *ret = NULL;

	if (!(flags & ~known) && (skip(&r, '{') || skip(&r, '[')))
		ret = nest_take(&r, r.at[-1] == '[', 0);
	strbuf_fini(&r.text);
	size_t position = (size_t)(r.at - text);
	if (ret && !(flags & JSON_DISABLE_EOF_CHECK)) {
		blanks_skip(&r);
		position = (size_t)(r.at - text);
		if (r.at != r.end) {
			json_decref(ret);
			ret = NULL;
		}
	}
	if (!ret)
		return json_loadb(text, n, flags, error);
	if (error) {
		*error = (json_error_t){.line = -1, .column = -1, .position = (int)position};
		memcpy(error->source, "<buffer>", sizeof "<buffer>");
	}
	return ret;
}
