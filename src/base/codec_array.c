/*
 * codec_array.c - see codec_array.h.
 */
#include "base/codec_array.h"

#include "base/codec.h"
#include "base/json.h"

void values_store(const struct field *rows, const void *record, const char *key, struct json *j)
{
	struct value v = {0};

	json_open_array(j, key);
	for (const struct field *f = rows; f->name; f++) {
		field_get(f, record, NULL, &v);
		value_write(&v, NULL, j);
	}
	json_close_array(j);
	strbuf_fini(&v.scratch);
}

void values_load(const struct field *rows, const json_t *list, void *record)
{
	for (const struct field *f = rows; f->name; f++) {
		field_reset(f, record);
		field_read(f, json_array_get(list, (size_t)(f - rows)), record, NULL, NULL);
	}
}
