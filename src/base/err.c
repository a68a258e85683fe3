/*
 * err.c - messages that describe failures.
 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Formats into a separate buffer, because an argument may be the old text. */
static void text_set(struct err *err, enum code code, const char *fmt, va_list ap)
{
	char fresh[sizeof err->text];

	if (!err)
		return;
	vsnprintf(fresh, sizeof fresh, fmt, ap);
	strcpy(err->text, fresh);
	err->code = code;
	err->form = fmt;
	err->begins = 0;
}

int err_set(struct err *err, int rc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_set(err, CODE_NONE, fmt, ap);
	va_end(ap);
	return rc;
}

int err_code(struct err *err, enum code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_set(err, code, fmt, ap);
	va_end(ap);
	return -code_row(code)->error;
}

static void append(struct err *err, const char *s)
{
	size_t used = strlen(err->text), n = strnlen(s, sizeof err->text - 1 - used);

	memcpy(err->text + used, s, n);
	err->text[used + n] = '\0';
}

int err_prefix(struct err *err, int rc, const char *fmt, ...)
{
	struct err fresh;
	va_list ap;

	if (!err)
		return rc;
	va_start(ap, fmt);
	vsnprintf(fresh.text, sizeof fresh.text, fmt, ap);
	va_end(ap);

	append(&fresh, ": ");
	err->begins = (unsigned short)(err->begins + strlen(fresh.text));
	append(&fresh, err->text);
	strcpy(err->text, fresh.text);
	return rc;
}
