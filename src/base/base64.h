/*
 * base64.h - encodes bytes that JSON cannot hold as text.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>

#include "base/strbuf.h"

/* Append to `out`. base64_decode() returns -EINVAL, with `out` unchanged, for anything but the
 * standard alphabet with padding. */
void base64_encode(const void *data, size_t n, struct strbuf *out);
int base64_decode(const char *text, size_t n, struct strbuf *out);

#endif
