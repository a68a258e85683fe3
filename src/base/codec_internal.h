/*
 * codec_internal.h - interface between codec.c and codec_list.c.
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

/* ---- codec_list.c ---- */

/* Reads a FORM_LENT or FORM_BYTES text of at most `most` bytes. */
int bytes_read(const struct field *f, const json_t *value, size_t most, struct arena *a, const char **ret,
	       struct err *err);
bool list_missing(const struct field *f, const void *record);
void list_reset(const struct field *f, void *record);
/* Writes the list; its records by record_show() or record_store(). */
void list_write(const struct field *f, const void *record, const struct names *words, bool show, struct json *j);
int list_read(const struct field *f, const json_t *value, void *record, const struct loader *l, struct err *err);

#endif
