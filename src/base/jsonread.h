/*
 * jsonread.h - reads JSON, usually in a third of jansson's time.
 */
#ifndef BASE_JSONREAD_H
#define BASE_JSONREAD_H

#include <jansson.h>
#include <stddef.h>

/* Reads a text like json_loadb(), with the same results, errors and position. `error` may be
 * NULL. */
json_t *json_read(const char *text, size_t n, size_t flags, json_error_t *error);

#endif
