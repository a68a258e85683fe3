/*
 * codec_list.c - lists, and texts of any bytes, as members of records.
 *
 * They are read into an arena, because a frame is read and freed as a whole. Only a name_list is
 * owned by its struct.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/codec_internal.h"
#include "base/err.h"
#include "base/hostlist.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/members.h"
#include "base/utf8.h"

/* Elements, if the row has no bound: limits the memory that a few bytes of input can claim. */
#define LIST_MOST 100000

/* ---- texts of any bytes ---- */

static bool is_utf8(const char *s)
{
	int32_t c;

	for (int n = 1; n > 0; s += n) {
		while (*s && (unsigned char)*s < 0x80)
			s++;
		n = utf8_next(s, &c);
		if (n > 0 && c == -1)
			return false;
	}
	return true;
}

void bytes_write(struct json *j, const char *key, const char *text)
{
	struct strbuf hex = {0};

	if (!text || is_utf8(text)) {
		json_text(j, key, text);
		return;
	}
	for (const char *p = text; *p; p++)
		strbuf_printf(&hex, "%02x", (unsigned char)*p);
	json_open_object(j, key);
	json_text(j, "hex", strbuf_text(&hex));
	json_close_object(j);
	strbuf_fini(&hex);
}

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *at = strchr(digits, c);

	return c && at ? (int)(at - digits) : -1;
}

static int hex_read(const char *name, const json_t *v, struct arena *a, const char **ret, struct err *err)
{
	size_t n = json_string_length(v) / 2;
	const char *s = json_string_value(v);
	char *text;

	if (!s || json_string_length(v) % 2)
		return err_set(err, -EINVAL, "%s must have two digits for each byte", name);
	text = arena_alloc(a, n + 1);
	for (size_t i = 0; i < n; i++) {
		int high = hex_digit(s[2 * i]), low = hex_digit(s[2 * i + 1]);
		if (high < 0 || low < 0 || high + low == 0)
			return err_set(err, -EINVAL, "%s must be bytes from 01 to ff in hex", name);
		text[i] = (char)(high << 4 | low);
	}
	*ret = text;
	return 0;
}

int bytes_read(const struct field *f, const json_t *value, size_t most, struct arena *a, const char **ret,
	       struct err *err)
{
	const json_t *hex = f->form != FORM_LENT && a ? json_object_get(value, "hex") : NULL;
	const char *text;
	int rc;

	if (hex)
		return hex_read(f->name, hex, a, ret, err);
	rc = value_read_text(value, f->name, most, &text, err);
	if (rc == 0)
		*ret = a ? arena_strndup(a, text, json_string_length(value)) : text;
	return rc;
}

/* ---- lists ---- */

static void *const *list(const struct field *f, const void *record)
{
	return (void *const *)(const void *)((const char *)record + f->at);
}

static int list_count(const struct field *f, const void *record)
{
	char *const *texts = f->form == FORM_TEXTS ? *list(f, record) : NULL;
	int n = 0;

	if (f->form == FORM_NAMES)
		return (int)((const name_list *)(const void *)list(f, record))->n;
	if (f->form != FORM_TEXTS)
		return *(const int *)(const void *)((const char *)record + f->count);
	while (texts && texts[n])
		n++;
	return n;
}

void list_set(const struct field *f, void *record, void *elements, int n)
{
	*(void **)(void *)((char *)record + f->at) = elements;
	if (f->form != FORM_TEXTS)
		*(int *)(void *)((char *)record + f->count) = n;
}

bool list_missing(const struct field *f, const void *record)
{
	char *const *texts = f->form == FORM_TEXTS ? *list(f, record) : NULL;

	return f->form == FORM_TEXTS ? !texts || !*texts : list_count(f, record) == 0;
}

void list_reset(const struct field *f, void *record)
{
	static char *none[] = {NULL};

	if (f->form == FORM_NAMES)
		*(name_list *)(void *)((char *)record + f->at) = (name_list){0};
	else
		list_set(f, record, f->form == FORM_TEXTS ? none : NULL, 0);
}

static void element_write(const struct field *f, const void *elements, int i, const struct names *words, bool show,
			  struct json *j)
{
	switch (f->form) {
	case FORM_TEXTS:
	case FORM_NAMES:
		bytes_write(j, NULL, ((char *const *)elements)[i]);
		break;
	case FORM_INTS:
		json_int(j, NULL, ((const int *)elements)[i]);
		break;
	default:
		json_open_object(j, NULL);
		(show ? record_show : record_store)(f->of->fields, f->of->in,
						    (const char *)elements + (size_t)i * f->size, words, j);
		json_close_object(j);
	}
}

void list_write(const struct field *f, const void *record, const struct names *words, bool show, struct json *j)
{
	int n = list_count(f, record);

	json_open_array(j, f->name);
	for (int i = 0; i < n; i++)
		element_write(f, *list(f, record), i, words, show, j);
	json_close_array(j);
}

static int element_read(const struct field *f, const json_t *v, void *elements, size_t i, const struct loader *l,
			struct err *err)
{
	int64_t number = 0;
	int rc;

	switch (f->form) {
	case FORM_TEXTS:
		return bytes_read(f, v, SIZE_MAX, l->arena, (const char **)elements + i, err);
	case FORM_INTS:
		rc = value_read_number(v, f->name, 0, INT32_MAX, &number, err);
		((int *)elements)[i] = (int)number;
		return rc;
	default:
		return record_fill(f->of->fields, f->of->in, v, (char *)elements + i * f->size, l, err);
	}
}

static int names_read(const struct field *f, const json_t *value, void *record, struct err *err)
{
	name_list *to = (name_list *)(void *)((char *)record + f->at), names = {0};
	const json_t *v;
	size_t i;

	json_array_foreach(value, i, v)
	{
		const char *text;
		int rc = value_read_text(v, f->name, SIZE_MAX, &text, err);
		if (rc < 0) {
			name_list_free(&names);
			return rc;
		}
		vec_push(&names, mem_strdup(text));
	}
	name_list_free(to);
	*to = names;
	return 0;
}

size_t list_most(const struct field *f)
{
	return f->most ? (size_t)f->most : LIST_MOST;
}

int list_read(const struct field *f, const json_t *value, void *record, const struct loader *l, struct err *err)
{
	size_t n = json_array_size(value), most = list_most(f);
	size_t size = f->form == FORM_TEXTS ? sizeof(char *) : f->size;
	void *elements;
	int rc = 0;

	if (!json_is_array(value) || n > most)
		return err_set(err, -EINVAL, "%s must be an array of at most %zu elements", f->name, most);
	if (f->form == FORM_NAMES)
		return names_read(f, value, record, err);
	assert(l->arena);
	elements = arena_alloc(l->arena, (n + 1) * size);
	for (size_t i = 0; i < n && rc == 0; i++) {
		rc = element_read(f, json_array_get(value, i), elements, i, l, err);
		if (rc < 0)
			err_prefix(err, rc, "%s[%zu]", f->name, i);
	}
	if (rc == 0)
		list_set(f, record, elements, (int)n);
	return rc;
}
