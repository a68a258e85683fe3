/*
 * base64.h - encodes bytes as text: in base64, which JSON can hold, or in hex.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>

#include "base/strbuf.h"

/* Append to `out`. base64_decode() returns -EINVAL, with `out` unchanged, for anything but the
 * standard alphabet with padding. */
void base64_encode(const void *data, size_t n, struct strbuf *out);
int base64_decode(const char *text, size_t n, struct strbuf *out);

/* Writes 2 * n lower-case hex digits and a NUL to `ret`. */
void hex_encode(const void *data, size_t n, char *ret);

#endif
