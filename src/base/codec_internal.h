/*
 * codec_internal.h - interface between codec.c, codec_list.c and codec_text.c.
 */
#ifndef BASE_CODEC_INTERNAL_H
#define BASE_CODEC_INTERNAL_H

#include "base/codec.h"

/* Storage for members that are read. */
struct loader {
	struct names *words;
	/* NULL: texts stay in the JSON that is read, and forms that need an arena cannot occur */
	struct arena *arena;
};

int record_fill(const struct field *rows, uint32_t in, const json_t *object, void *record, const struct loader *l,
		struct err *err);

/* Returns true if a row is selected; `in` 0 selects every row. */
bool field_is_in(const struct field *f, uint32_t in);
/* Returns the position of a text in "a|b|c", or -1. */
int64_t choice_find(const char *words, const char *text, size_t n);
/* Returns the field's bounds, or the range that its form can hold. */
void field_bounds(const struct field *f, int64_t *ret_least, int64_t *ret_most);
/* Sets a member that is kept as a number. */
void field_number_set(const struct field *f, void *record, int64_t n);

/* ---- codec_list.c ---- */

/* Returns the most elements that a list may have. */
size_t list_most(const struct field *f);
/* Sets a list whose elements are in an arena; texts end with NULL. */
void list_set(const struct field *f, void *record, void *elements, int n);

/* Reads a FORM_LENT or FORM_BYTES text of at most `most` bytes. */
int bytes_read(const struct field *f, const json_t *value, size_t most, struct arena *a, const char **ret,
	       struct err *err);
bool list_missing(const struct field *f, const void *record);
void list_reset(const struct field *f, void *record);
/* Writes the list; its records by record_show() or record_store(). */
void list_write(const struct field *f, const void *record, const struct names *words, bool show, struct json *j);
int list_read(const struct field *f, const json_t *value, void *record, const struct loader *l, struct err *err);

#endif
