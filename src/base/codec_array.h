/*
 * codec_array.h - records as arrays of their members' values, in the order of their rows: for lists
 * of many small records, whose names would take more room than their values.
 */
#ifndef BASE_CODEC_ARRAY_H
#define BASE_CODEC_ARRAY_H

#include <jansson.h>

struct field;
struct json;

/* Writes the values; `key` is NULL inside an array. */
void values_store(const struct field *rows, const void *record, const char *key, struct json *j);
/* Reads what values_store() wrote. Missing and wrong values count as missing. */
void values_load(const struct field *rows, const json_t *list, void *record);

#endif
