/*
 * when.h - a moment in the past, as options take it.
 */
#ifndef CMD_WHEN_H
#define CMD_WHEN_H

#include <stdint.h>

#include "cmd/lib/command.h"

/* "7d" (ago), "2026-11-01", or with a time. EXIT_OK; EXIT_USAGE, and the sentence was printed. */
int when_parse(const struct command *c, const char *option, const char *text, int64_t now, int64_t *ret);

#endif
