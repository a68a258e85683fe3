/*
 * codec.c - see codec.h.
 */
#include "base/codec.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec_internal.h"
#include "base/err.h"
#include "base/hostlist.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/members.h"
#include "base/names.h"
#include "base/timetext.h"

static const void *place(const struct field *f, const void *record)
{
	return (const char *)record + f->at;
}

int64_t field_number(const struct field *f, const void *record)
{
	const void *at = place(f, record);

	switch (f->form) {
	case FORM_BOOL:
		return *(const bool *)at;
	case FORM_U8:
	case FORM_LETTERS:
	case FORM_CHOICE8:
		return *(const uint8_t *)at;
	case FORM_I16:
		return *(const int16_t *)at;
	case FORM_I32:
		return *(const int32_t *)at;
	case FORM_U32:
	case FORM_WORD:
	case FORM_CHOICE:
		return *(const uint32_t *)at;
	case FORM_I64:
		return *(const int64_t *)at;
	case FORM_U64:
		return (int64_t) * (const uint64_t *)at;
	case FORM_SECONDS:
		return *(const int64_t *)at / 1000;
	case FORM_MICROS:
		return llround(*(const double *)at * 1e6);
	case FORM_REAL:
		return (int64_t) * (const double *)at;
	default:
		return 0;
	}
}

void field_number_set(const struct field *f, void *record, int64_t n)
{
	void *at = (char *)record + f->at;

	switch (f->form) {
	case FORM_BOOL:
		*(bool *)at = n;
		break;
	case FORM_U8:
	case FORM_LETTERS:
	case FORM_CHOICE8:
		*(uint8_t *)at = (uint8_t)n;
		break;
	case FORM_I16:
		*(int16_t *)at = (int16_t)n;
		break;
	case FORM_I32:
		*(int32_t *)at = (int32_t)n;
		break;
	case FORM_U32:
	case FORM_WORD:
	case FORM_CHOICE:
		*(uint32_t *)at = (uint32_t)n;
		break;
	case FORM_I64:
		*(int64_t *)at = n;
		break;
	case FORM_U64:
		*(uint64_t *)at = (uint64_t)n;
		break;
	case FORM_SECONDS:
		*(int64_t *)at = n * 1000;
		break;
	case FORM_MICROS:
		*(double *)at = (double)n / 1e6;
		break;
	case FORM_REAL:
		*(double *)at = (double)n;
		break;
	default:
		break;
	}
}

static double real(const struct field *f, const void *record)
{
	return *(const double *)place(f, record);
}

static bool is_text(const struct field *f)
{
	return f->form >= FORM_TEXT && f->form <= FORM_WORD;
}

static const json_t *json_at(const struct field *f, const void *record)
{
	return *(const json_t *const *)place(f, record);
}

static bool is_list(const struct field *f)
{
	return f->form >= FORM_TEXTS;
}

const char *field_text(const struct field *f, const void *record, const struct names *words)
{
	const void *at = place(f, record);

	switch (f->form) {
	case FORM_TEXT:
	case FORM_LENT:
	case FORM_BYTES:
		return *(const char *const *)at;
	case FORM_INLINE:
		return at;
	case FORM_CHARS:
		return *(const char *)at ? at : NULL;
	case FORM_WORD:
		return *(const uint32_t *)at ? names_get(words, *(const uint32_t *)at) : NULL;
	default:
		return NULL;
	}
}

bool field_missing(const struct field *f, const void *record)
{
	if (is_list(f))
		return list_missing(f, record);
	if (is_text(f) && f->form != FORM_INLINE && f->form != FORM_WORD)
		return !field_text(f, record, NULL);
	if (f->form == FORM_REAL)
		return real(f, record) == (double)f->missing;
	if (f->form == FORM_JSON)
		return !json_at(f, record);
	if (f->form == FORM_RECORD) {
		for (const struct field *m = f->of->fields; m->name; m++)
			if (!field_missing(m, place(f, record)))
				return false;
		return true;
	}
	return f->form != FORM_INLINE && field_number(f, record) == f->missing;
}

void field_reset(const struct field *f, void *record)
{
	if (is_list(f))
		list_reset(f, record);
	else if (f->form == FORM_TEXT || f->form == FORM_LENT || f->form == FORM_BYTES || f->form == FORM_JSON)
		*(const char **)(void *)((char *)record + f->at) = NULL;
	else if (f->form == FORM_CHARS)
		*((char *)record + f->at) = '\0';
	else if (f->form == FORM_RECORD)
		for (const struct field *m = f->of->fields; m->name; m++)
			field_reset(m, (char *)record + f->at);
	else
		field_number_set(f, record, f->missing);
}

bool field_same(const struct field *f, const void *a, const void *b)
{
	const char *x, *y;

	assert(!is_list(f)); /* lists are never compared */
	if (f->form == FORM_RECORD) {
		for (const struct field *m = f->of->fields; m->name; m++)
			if (!field_same(m, place(f, a), place(f, b)))
				return false;
		return true;
	}
	if (f->form == FORM_REAL)
		return real(f, a) == real(f, b);
	if (!is_text(f) || f->form == FORM_WORD)
		return field_number(f, a) == field_number(f, b);
	x = field_text(f, a, NULL);
	y = field_text(f, b, NULL);
	return x && y ? strcmp(x, y) == 0 : x == y;
}

/* ---- choices and letters ---- */

/* Returns the text at position `n` of "a|b|c" and its length, which is 0 if there are fewer. */
static const char *choice_at(const char *words, int64_t n, size_t *ret_length)
{
	for (; n > 0 && words; n--) {
		words = strchr(words, '|');
		words += words != NULL;
	}
	*ret_length = words ? strcspn(words, "|") : 0;
	return words ? words : "";
}

int64_t choice_find(const char *words, const char *text, size_t n)
{
	for (int64_t at = 0;; at++) {
		size_t length = strcspn(words, "|");
		if (length == n && memcmp(words, text, n) == 0)
			return at;
		if (!words[length])
			return -1;
		words += length + 1;
	}
}

static size_t letters_count(const char *letters)
{
	return strcspn(letters, "n");
}

int letters_parse(const char *name, const char *letters, const char *text, uint8_t *ret, struct err *err)
{
	size_t n = letters_count(letters);
	uint8_t bits = 0;

	for (const char *p = text; *p; p++) {
		const char *found = strchr(letters, *p);
		if (!found) {
			struct strbuf known = {0};
			for (size_t i = 0; i < n; i++)
				strbuf_printf(&known, "%c, ", letters[i]);
			err_set(err, -EINVAL, "%s \"%.20s\" must be of the letters %sor n", name, text,
				strbuf_text(&known));
			strbuf_fini(&known);
			return -EINVAL;
		}
		if ((size_t)(found - letters) < n)
			bits |= (uint8_t)(1 << (found - letters));
	}
	*ret = bits;
	return 0;
}

void letters_format(const char *letters, uint8_t bits, struct strbuf *out)
{
	size_t n = letters_count(letters);

	for (size_t i = 0; i < n; i++)
		if (bits & 1 << i)
			strbuf_add(out, letters + i, 1);
	if (!bits)
		strbuf_puts(out, "n");
}

/* ---- writing ---- */

void value_write(const struct value *v, const char *key, struct json *j)
{
	switch (v->kind) {
	case VALUE_NULL:
		json_text(j, key, NULL);
		break;
	case VALUE_INT:
		json_int(j, key, v->number);
		break;
	case VALUE_REAL:
		json_double(j, key, v->real);
		break;
	case VALUE_BOOL:
		json_bool(j, key, v->number != 0);
		break;
	case VALUE_TEXT:
		json_text(j, key, v->text);
		break;
	case VALUE_JSON:
		json_raw(j, key, v->text);
		break;
	}
}

json_t *value_json(const struct value *v)
{
	switch (v->kind) {
	case VALUE_INT:
		return json_integer(v->number);
	case VALUE_REAL:
		return json_real(v->real);
	case VALUE_BOOL:
		return json_boolean(v->number);
	case VALUE_TEXT:
		return json_string(v->text);
	case VALUE_JSON:
		return json_loads(v->text, JSON_DECODE_ANY, NULL);
	default:
		return json_null();
	}
}

/* Returns true if the member is shown even for a record that lacks it. */
static bool is_always_shown(const struct field *f)
{
	return (f->is & (REQUIRED | IS_NULL)) == REQUIRED;
}

/* Returns true for a number that means "no value". */
static bool is_none(const struct field *f, int64_t n)
{
	if (is_always_shown(f))
		return false;
	return (f->is & IS_INSTANT && (n <= 0 || n == TIME_NEVER)) || (f->is & IS_NULL && n == f->missing);
}

/* Returns true for a SPARSE member, or a record that may be null, without a value. */
static bool is_lacked(const struct field *f, const void *record)
{
	return (f->is & SPARSE || (f->is & IS_NULL && f->form == FORM_RECORD)) && field_missing(f, record);
}

/* Returns true for a number that is a text in JSON. */
static bool is_spelled(const struct field *f)
{
	return f->form == FORM_LETTERS || f->form == FORM_CHOICE || f->form == FORM_CHOICE8;
}

static void spell(const struct field *f, int64_t n, struct strbuf *out)
{
	size_t length;
	const char *choice;

	if (f->form == FORM_LETTERS) {
		letters_format(f->letters, (uint8_t)n, out);
	} else {
		choice = choice_at(f->words, n, &length);
		strbuf_add(out, choice, length);
	}
}

static void record_get(const struct field *f, const void *record, const struct names *words, struct value *v)
{
	strbuf_clear(&v->scratch);
	record_show_text(f->of->fields, f->of->in, place(f, record), words, &v->scratch);
	v->text = strbuf_text(&v->scratch);
	v->kind = VALUE_JSON;
}

static void json_get(const json_t *x, struct value *v)
{
	char *text = x ? json_dumps(x, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

	if (!text)
		return;
	strbuf_clear(&v->scratch);
	strbuf_puts(&v->scratch, text);
	free(text);
	v->text = strbuf_text(&v->scratch);
	v->kind = VALUE_JSON;
}

void field_get(const struct field *f, const void *record, const struct names *words, struct value *v)
{
	v->kind = VALUE_NULL;
	if (is_lacked(f, record))
		return;
	if (is_text(f)) {
		v->text = field_text(f, record, words);
		if (!v->text && is_always_shown(f))
			v->text = "";
		v->kind = v->text && (*v->text || is_always_shown(f)) ? VALUE_TEXT : VALUE_NULL;
		return;
	}
	if (f->form == FORM_RECORD) {
		record_get(f, record, words, v);
		return;
	}
	if (f->form == FORM_JSON) {
		json_get(json_at(f, record), v);
		return;
	}
	assert(!is_list(f)); /* shown by record_show() */
	if (f->form == FORM_REAL) {
		v->real = real(f, record);
		v->kind = f->is & IS_NULL && field_missing(f, record) ? VALUE_NULL : VALUE_REAL;
		return;
	}
	v->number = field_number(f, record);
	if (is_spelled(f)) {
		strbuf_clear(&v->scratch);
		spell(f, v->number, &v->scratch);
		v->text = strbuf_text(&v->scratch);
		v->kind = VALUE_TEXT;
	} else if (f->form == FORM_BOOL) {
		v->kind = VALUE_BOOL;
	} else if (f->form != FORM_NONE && !is_none(f, v->number)) {
		/* a number can mean "no value", a bool cannot */
		v->kind = f->is & IS_BOOL ? VALUE_BOOL : VALUE_INT;
	}
}

/* Writes the letters or the choice that a number stands for. */
static void spelled_store(const struct field *f, int64_t n, struct json *j)
{
	struct strbuf letters = {0};
	size_t length;
	const char *choice;

	if (f->form == FORM_LETTERS) {
		letters_format(f->letters, (uint8_t)n, &letters);
		json_text(j, f->name, strbuf_text(&letters));
		strbuf_fini(&letters);
	} else {
		choice = choice_at(f->words, n, &length);
		json_word(j, f->name, choice, length);
	}
}

void field_store(const struct field *f, const void *record, const struct names *words, struct json *j)
{
	const char *text;
	char *dump;

	if (f->form == FORM_NONE || (field_missing(f, record) && !(f->in & ALWAYS)))
		return;
	if (is_list(f)) {
		list_write(f, record, words, false, j);
		return;
	}
	switch (f->form) {
	case FORM_RECORD:
		json_open_object(j, f->name);
		record_store(f->of->fields, f->of->in, place(f, record), words, j);
		json_close_object(j);
		break;
	case FORM_JSON:
		dump = json_dumps(json_at(f, record), JSON_COMPACT | JSON_ENCODE_ANY);
		if (dump)
			json_raw(j, f->name, dump);
		free(dump);
		break;
	case FORM_TEXT:
	case FORM_LENT:
	case FORM_BYTES:
	case FORM_INLINE:
	case FORM_CHARS:
	case FORM_WORD:
		text = field_text(f, record, words);
		(f->form == FORM_BYTES ? bytes_write : json_text)(j, f->name, text ? text : "");
		break;
	case FORM_LETTERS:
	case FORM_CHOICE:
	case FORM_CHOICE8:
		spelled_store(f, field_number(f, record), j);
		break;
	case FORM_BOOL:
		json_bool(j, f->name, field_number(f, record));
		break;
	case FORM_REAL:
		json_double(j, f->name, real(f, record));
		break;
	default:
		json_int(j, f->name, field_number(f, record));
	}
}

/* ---- reading ---- */

void field_bounds(const struct field *f, int64_t *ret_least, int64_t *ret_most)
{
	static const struct {
		int64_t least, most;
	} range[] = {
		[FORM_U8] = {0, UINT8_MAX},
		[FORM_I16] = {INT16_MIN, INT16_MAX},
		[FORM_I32] = {INT32_MIN, INT32_MAX},
		[FORM_U32] = {0, UINT32_MAX},
		[FORM_I64] = {INT64_MIN, INT64_MAX},
		[FORM_U64] = {INT64_MIN, INT64_MAX},
		[FORM_SECONDS] = {INT64_MIN / 1000, INT64_MAX / 1000},
		[FORM_MICROS] = {INT64_MIN, INT64_MAX},
	};
	bool own = f->least || f->most;

	*ret_least = own ? f->least : range[f->form].least;
	*ret_most = own ? f->most : range[f->form].most;
}

static int text_read(const struct field *f, const json_t *value, void *record, const struct loader *l, struct err *err)
{
	size_t most = f->most ? (size_t)f->most : SIZE_MAX;
	char **at = (char **)((char *)record + f->at);
	struct names *words = l->words;
	const char *text = NULL;
	int rc;

	if (f->form == FORM_LENT || f->form == FORM_BYTES)
		return bytes_read(f, value, most, l->arena, (const char **)(void *)at, err);
	rc = value_read_text(value, f->name, most, &text, err);

	if (rc < 0 || f->form == FORM_INLINE)
		return rc;
	if (f->form == FORM_CHARS) {
		memcpy((char *)record + f->at, text, strlen(text) + 1); /* at most `most` bytes */
		return 0;
	}
	if (f->form == FORM_WORD) {
		if (words->n == 0)
			names_add(words, ""); /* reserve 0 for "none" */
		*(uint32_t *)(void *)at = *text ? names_add(words, text) : 0;
		return 0;
	}
	free(*at);
	*at = *text ? mem_strdup(text) : NULL;
	return 0;
}

static int spelled_read(const struct field *f, const json_t *value, int64_t *ret, struct err *err)
{
	const char *text;
	uint8_t bits;
	int rc = value_read_text(value, f->name, SIZE_MAX, &text, err);

	if (rc < 0)
		return rc;
	if (f->form != FORM_LETTERS) {
		*ret = choice_find(f->words, text, strlen(text));
		return *ret >= 0 ? 0 : err_set(err, -EINVAL, "%s \"%.40s\" must be one of %s", f->name, text, f->words);
	}
	rc = letters_parse(f->name, f->letters, text, &bits, err);
	*ret = rc == 0 ? bits : 0;
	return rc;
}

static int member_read(const struct field *f, const json_t *value, void *record, const struct loader *l,
		       struct err *err)
{
	int64_t number = 0, least, most;
	bool flag;
	int rc;

	if (!value || json_is_null(value) || f->form == FORM_NONE)
		return 0;
	if (is_text(f))
		return text_read(f, value, record, l, err);
	if (f->form == FORM_RECORD)
		return record_fill(f->of->fields, f->of->in, value, (char *)record + f->at, l, err);
	if (is_list(f))
		return list_read(f, value, record, l, err);
	if (f->form == FORM_JSON) {
		*(const json_t **)(void *)((char *)record + f->at) = value;
		return 0;
	}
	if (f->form == FORM_BOOL) {
		rc = value_read_bool(value, f->name, &flag, err);
		number = rc == 0 && flag;
	} else if (is_spelled(f)) {
		rc = spelled_read(f, value, &number, err);
	} else if (f->form == FORM_REAL) {
		if (!json_is_number(value))
			return err_set(err, -EINVAL, "%s must be a number", f->name);
		*(double *)((char *)record + f->at) = json_number_value(value);
		return 0;
	} else {
		field_bounds(f, &least, &most);
		rc = value_read_number(value, f->name, least, most, &number, err);
	}
	if (rc == 0)
		field_number_set(f, record, number);
	return rc;
}

int field_read(const struct field *f, const json_t *value, void *record, struct names *words, struct err *err)
{
	return member_read(f, value, record, &(struct loader){.words = words}, err);
}

bool field_is_in(const struct field *f, uint32_t in)
{
	return !in || f->in & in;
}

/* Compares the first letter before calling strcmp(): most rows have another name. */
static bool is_named(const struct field *f, const char *name)
{
	return *f->name == *name && strcmp(f->name, name) == 0;
}

const struct field *field_find(const struct field *rows, uint32_t in, const char *name, const struct field *hint)
{
	for (const struct field *f = hint ? hint + 1 : rows; f->name; f++)
		if (field_is_in(f, in) && is_named(f, name))
			return f;
	for (const struct field *f = rows; hint && f <= hint; f++)
		if (field_is_in(f, in) && is_named(f, name))
			return f;
	return NULL;
}

/* ---- whole records ---- */

void record_store(const struct field *rows, uint32_t in, const void *record, const struct names *words, struct json *j)
{
	for (const struct field *f = rows; f->name; f++)
		if (field_is_in(f, in))
			field_store(f, record, words, j);
}

/* Returns true if an object lacks an ALWAYS member; null counts as lacking. */
static bool is_lacking(const struct field *f, const json_t *object)
{
	const json_t *v = f->in & ALWAYS ? json_object_get(object, f->name) : NULL;

	return f->in & ALWAYS && (!v || json_is_null(v));
}

int record_fill(const struct field *rows, uint32_t in, const json_t *object, void *record, const struct loader *l,
		struct err *err)
{
	const struct field *f = NULL, *found;
	const char *key;
	json_t *value;
	int rc;

	for (const struct field *m = rows; m->name; m++)
		if (field_is_in(m, in))
			field_reset(m, record);
	if (!json_is_object(object))
		return err_set(err, -EINVAL, "a record must be an object");
	for (const struct field *m = rows; m->name; m++)
		if (field_is_in(m, in) && is_lacking(m, object))
			return err_set(err, -EINVAL, "a record lacks \"%s\"", m->name);
	json_object_foreach((json_t *)object, key, value)
	{
		found = field_find(rows, in, key, f);
		if (!found)
			continue;
		f = found;
		rc = member_read(f, value, record, l, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int record_load(const struct field *rows, uint32_t in, const json_t *object, void *record, struct names *words,
		struct err *err)
{
	return record_fill(rows, in, object, record, &(struct loader){.words = words}, err);
}

int record_read(const struct field *rows, uint32_t in, const json_t *object, void *record, struct arena *a,
		struct err *err)
{
	return record_fill(rows, in, object, record, &(struct loader){.arena = a}, err);
}

static void inside_show(const struct field *f, const void *record, struct json *j)
{
	const struct json before = *j;
	size_t n = j->out->n;
	bool list = f->is & IS_LIST;

	(list ? json_open_array : json_open_object)(j, f->name);
	f->inside(record, j);
	if (j->more[j->depth] || f->is & REQUIRED || f->in & ALWAYS) {
		(list ? json_close_array : json_close_object)(j);
	} else {
		*j = before;
		j->out->n = n;
		j->out->text[n] = '\0';
	}
}

void record_show(const struct field *rows, uint32_t in, const void *record, const struct names *words, struct json *j)
{
	struct value v = {0};

	for (const struct field *f = rows; f->name; f++) {
		if (!field_is_in(f, in))
			continue;
		if (f->inside) {
			inside_show(f, record, j);
			continue;
		}
		if (is_list(f)) {
			if (!list_missing(f, record) || f->is & REQUIRED || f->in & ALWAYS)
				list_write(f, record, words, true, j);
			continue;
		}
		v.kind = VALUE_NULL;
		strbuf_clear(&v.scratch);
		if (f->get)
			f->get(record, &v);
		else
			field_get(f, record, words, &v);
		if (v.kind != VALUE_NULL || f->is & IS_NULL)
			value_write(&v, f->name, j);
	}
	strbuf_fini(&v.scratch);
}

void schema_show(const struct schema *t, const char *key, const void *record, const struct names *words, struct json *j)
{
	json_open_object(j, key);
	record_show(t->fields, t->in, record, words, j);
	json_close_object(j);
}

void record_store_text(const struct field *rows, uint32_t in, const void *record, const struct names *words,
		       struct strbuf *out)
{
	struct json j;

	json_begin(&j, out);
	record_store(rows, in, record, words, &j);
	json_close_object(&j);
}

void record_show_text(const struct field *rows, uint32_t in, const void *record, const struct names *words,
		      struct strbuf *out)
{
	struct json j;

	json_begin(&j, out);
	record_show(rows, in, record, words, &j);
	json_close_object(&j);
}

json_t *schema_json(const struct schema *t, const void *record)
{
	struct strbuf text = {0};
	json_t *o;

	record_show_text(t->fields, t->in, record, NULL, &text);
	o = json_loadb(text.text, text.n, 0, NULL);
	strbuf_fini(&text);
	return o;
}

void record_free(const struct field *rows, void *record)
{
	for (const struct field *f = rows; f->name; f++) {
		char **at = (char **)(void *)((char *)record + f->at);
		if (f->form == FORM_RECORD)
			record_free(f->of->fields, at);
		if (f->form == FORM_NAMES)
			name_list_free((name_list *)(void *)at);
		if (f->form != FORM_TEXT)
			continue;
		free(*at);
		*at = NULL;
	}
}
