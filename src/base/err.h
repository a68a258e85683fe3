/*
 * err.h - a human sentence beside an error code.
 *
 * Functions that can fail return 0 or -errno and describe the failure in the
 * `struct err *` given last (which may be NULL). Only the top level prints it.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

struct err {
	char text[512];
};

/* Writes the sentence and returns `code`, so that callers can `return err_set(...)`. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before a sentence that is already there. Returns `code`. */
int err_prefix(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
