/*
 * base64.h - bytes that JSON can't hold, as text.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>

#include "base/strbuf.h"

/* Appends to `out`. Decoding: -EINVAL on anything else than the standard alphabet with padding; `out` is then as it
 * was. */
void base64_encode(const void *data, size_t n, struct strbuf *out);
int base64_decode(const char *text, size_t n, struct strbuf *out);

#endif
