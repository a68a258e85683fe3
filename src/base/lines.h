/*
 * lines.h - reads a text file line by line; gzip is recognised by its content.
 */
#ifndef BASE_LINES_H
#define BASE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct lines;

/* Opens a file; "-" is standard input. */
int lines_open(const char *path, struct lines **ret, struct err *err);
/* Reads from a borrowed buffer instead, for tests and fuzzing. */
struct lines *lines_over(const void *data, size_t n);
/* Returns 1 for a line (NUL-terminated, without its line end, borrowed until the next call), 0
 * at the end, -errno on a read error. A line longer than 64 KiB is cut there and the rest of it
 * skipped. */
int lines_next(struct lines *l, char **ret_line, struct err *err);
int64_t lines_number(const struct lines *l); /* number of the last line, from 1 */
void lines_close(struct lines *l);

#endif
