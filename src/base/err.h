/*
 * err.h - an error message for people, next to an error code.
 *
 * Functions that can fail return 0 or -errno and describe the failure in the `struct err *` passed
 * last (which may be NULL). Only the top level prints it.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/code.h"

struct err {
	char text[512];
	enum code code; /* for the API's clients; CODE_NONE unless err_code() set it */
	/* For clients in other languages (base/phrase.h). Code that writes `text` directly sets
	 * `form` to NULL. */
	const char *form;      /* format string that produced the text: a literal */
	unsigned short begins; /* offset in `text` at which it begins, after any prefixes */
};

/* Writes the message and returns `rc`, so that callers can `return err_set(...)`. */
int err_set(struct err *err, int rc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Like err_set(), with an error code for clients of the API. Returns -errno of the code. */
int err_code(struct err *err, enum code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the existing message and keeps its code. Returns `rc`. */
int err_prefix(struct err *err, int rc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
