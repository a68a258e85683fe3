/*
 * recorded.h - a text compared with what was recorded in a file of tests/golden, line by line.
 */
#ifndef GOLDEN_RECORDED_H
#define GOLDEN_RECORDED_H

#include <stdbool.h>

#include "base/strbuf.h"

struct site;

/* Returns true if SHUNT_GOLDEN=write asks to record instead of to compare. */
bool recorded_anew(void);

/* Appends a text without what differs from run to run or from release to release: the site's
 * directory, random parts of tags, and the version. */
void recorded_put(struct strbuf *out, const struct site *site, const char *text);

/* Compares a text with a file, or records it. Prints the first lines that differ, each with the
 * last line before it that began with `head`, and fails then. */
void recorded_compare(const char *path, const char *head, const struct strbuf *now);

#endif
