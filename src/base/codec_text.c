/*
 * codec_text.c - reads a record from text by its rows.
 *
 * Reads the members that programs write most: texts, whole numbers, flags, choices, and lists of
 * texts and numbers. At anything else (null, records inside, members without a row, every error) it
 * gives up, and json_read() and record_read() read the text again, so that there is one set of
 * rules. Making an object for each value and freeing it would take most of the time.
 */
#include <string.h>

#include "base/arena.h"
#include "base/codec_internal.h"
#include "base/jsonread.h"
#include "base/jsonread_internal.h"

#define ROWS_MOST 128 /* number of rows of the longest table that is read here */

/* jansson decides what is UTF-8. */
static bool is_utf8(const char *text, size_t n)
{
	json_t *copy = json_stringn(text, n);

	json_decref(copy);
	return copy;
}

static bool text_take(struct jsonread *r, struct arena *a, const char **ret, size_t *ret_n)
{
	const char *text;
	bool high;

	if (!jsonread_skip(r, '"') || !jsonread_text(r, &text, ret_n, &high) || (high && !is_utf8(text, *ret_n)))
		return false;
	*ret = arena_strndup(a, text, *ret_n);
	return true;
}

static bool element_take(struct jsonread *r, const struct field *f, struct arena *a, struct strbuf *list)
{
	const char *text;
	int64_t number;
	size_t n;

	if (f->form == FORM_TEXTS) {
		if (!text_take(r, a, &text, &n))
			return false;
		strbuf_add(list, (const char *)&text, sizeof text);
		return true;
	}
	jsonread_blanks(r);
	if (!jsonread_number(r, &number) || number < 0 || number > INT32_MAX)
		return false;
	strbuf_add(list, (const char *)&(int){(int)number}, sizeof(int));
	return true;
}

static bool list_take(struct jsonread *r, const struct field *f, void *record, struct arena *a)
{
	struct strbuf list = {0};
	size_t n = 0, most = list_most(f);
	bool good = jsonread_skip(r, '['), empty = good && jsonread_skip(r, ']');

	if (good && !empty) {
		do
			good = n++ < most && element_take(r, f, a, &list);
		while (good && jsonread_skip(r, ','));
		good = good && jsonread_skip(r, ']');
	}
	if (good) {
		void *elements = arena_alloc(a, list.n + sizeof(char *));
		memcpy(elements, strbuf_text(&list), list.n);
		list_set(f, record, elements, (int)n);
	}
	strbuf_fini(&list);
	return good;
}

static bool number_take(struct jsonread *r, const struct field *f, void *record)
{
	int64_t n, least, most;

	field_bounds(f, &least, &most);
	if (!jsonread_number(r, &n) || n < least || n > most)
		return false;
	field_number_set(f, record, n);
	return true;
}

static bool member_take(struct jsonread *r, const struct field *f, void *record, struct arena *a)
{
	const char *text;
	int64_t n;
	size_t length;
	bool yes;

	switch (f->form) {
	case FORM_LENT:
	case FORM_BYTES:
		if (!text_take(r, a, &text, &length) || (f->most && length > (size_t)f->most))
			return false;
		*(const char **)(void *)((char *)record + f->at) = text;
		return true;
	case FORM_CHOICE:
		if (!text_take(r, a, &text, &length) || (n = choice_find(f->words, text, length)) < 0)
			return false;
		field_number_set(f, record, n);
		return true;
	case FORM_TEXTS:
	case FORM_INTS:
		return list_take(r, f, record, a);
	case FORM_BOOL:
		jsonread_blanks(r);
		yes = jsonread_word(r, "true");
		if (!yes && !jsonread_word(r, "false"))
			return false;
		field_number_set(f, record, yes);
		return true;
	case FORM_U8:
	case FORM_I16:
	case FORM_I32:
	case FORM_U32:
	case FORM_I64:
	case FORM_U64:
		jsonread_blanks(r);
		return number_take(r, f, record);
	default:
		return false;
	}
}

/* `some`: members without a row are skipped. */
static bool members_take(struct jsonread *r, const struct field *rows, uint32_t in, bool some, void *record,
			 struct arena *a, bool seen[ROWS_MOST])
{
	const struct field *f = NULL;
	char key[JSONREAD_KEY];

	if (jsonread_skip(r, '}'))
		return true;
	do {
		if (!jsonread_skip(r, '"') || !jsonread_key(r, key))
			return false;
		f = field_find(rows, in, key, f);
		if (f ? f - rows >= ROWS_MOST || !member_take(r, f, record, a) : !some || !jsonread_value(r))
			return false;
		if (f)
			seen[f - rows] = true;
	} while (jsonread_skip(r, ','));
	return jsonread_skip(r, '}');
}

static bool record_take(struct jsonread *r, const struct field *rows, uint32_t in, bool some, void *record,
			struct arena *a)
{
	bool seen[ROWS_MOST] = {0};

	for (const struct field *f = rows; f->name; f++)
		if (field_is_in(f, in))
			field_reset(f, record);
	if (!jsonread_skip(r, '{') || !members_take(r, rows, in, some, record, a, seen) || !jsonread_end(r))
		return false;
	for (const struct field *f = rows; f->name; f++)
		if (field_is_in(f, in) && f->in & ALWAYS && (f - rows >= ROWS_MOST || !seen[f - rows]))
			return false;
	return true;
}

bool record_glance(const struct field *rows, const char *text, size_t n, void *record, struct arena *a)
{
	struct jsonread r = {.at = text, .end = text + n};
	bool good = record_take(&r, rows, 0, true, record, a);

	strbuf_fini(&r.text);
	return good;
}

int record_read_text(const struct field *rows, uint32_t in, const char *text, size_t n, void *record, struct arena *a,
		     struct err *err)
{
	struct jsonread r = {.at = text, .end = text + n};
	bool good = record_take(&r, rows, in, false, record, a);

	strbuf_fini(&r.text);
	if (good)
		return 0;
	json_t *object = json_read(text, n, 0, NULL);
	int rc = record_read(rows, in, object, record, a, err);
	json_decref(object);
	return rc;
}
