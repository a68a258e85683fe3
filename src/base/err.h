/*
 * err.h - a human sentence beside an error code.
 *
 * Functions that can fail return 0 or -errno and describe the failure in the
 * `struct err *` given last (which may be NULL). Only the top level prints it.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/code.h"

struct err {
	char text[512];
	enum code code; /* for the API's clients; CODE_NONE unless err_code() set it */
	/* For clients that speak another language (base/phrase.h). Whatever writes `text` by itself sets it to NULL. */
	const char *form;      /* what it was printed by: a literal */
	unsigned short begins; /* where in `text`: prefixes come before it */
};

/* Writes the sentence and returns `rc`, so that callers can `return err_set(...)`. */
int err_set(struct err *err, int rc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same for a failure that clients of the API can tell from others. Returns -errno of the code. */
int err_code(struct err *err, enum code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before a sentence that is already there, whose code stays. Returns `rc`. */
int err_prefix(struct err *err, int rc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
