/*
 * err.c - sentences that describe failures.
 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Both write through a buffer of their own, since an argument may be the old text. */
int err_set(struct err *err, int code, const char *fmt, ...)
{
	struct err fresh;
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	vsnprintf(fresh.text, sizeof fresh.text, fmt, ap);
	va_end(ap);
	strcpy(err->text, fresh.text);
	return code;
}

static void append(struct err *err, const char *s)
{
	size_t used = strlen(err->text), n = strnlen(s, sizeof err->text - 1 - used);

	memcpy(err->text + used, s, n);
	err->text[used + n] = '\0';
}

int err_prefix(struct err *err, int code, const char *fmt, ...)
{
	struct err fresh;
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	vsnprintf(fresh.text, sizeof fresh.text, fmt, ap);
	va_end(ap);

	append(&fresh, ": ");
	append(&fresh, err->text);
	strcpy(err->text, fresh.text);
	return code;
}
