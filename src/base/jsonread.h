/*
 * jsonread.h - reads JSON, usually in a third of jansson's time.
 */
#ifndef BASE_JSONREAD_H
#define BASE_JSONREAD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct strbuf;

/* Reads a text like json_loadb(), with the same results, errors and position. `error` may be
 * NULL. */
json_t *json_read(const char *text, size_t n, size_t flags, json_error_t *error);
/* Appends the text of an object without the members named in `without`, which ends with NULL, and
 * does not check the values of the others. Returns false if the text is not an object as programs
 * write it. */
bool json_cut(const char *text, size_t n, const char *const *without, struct strbuf *out);

#endif
