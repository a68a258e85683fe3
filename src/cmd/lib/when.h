/*
 * when.h - parses a time in the past given to an option.
 */
#ifndef CMD_WHEN_H
#define CMD_WHEN_H

#include <stdint.h>

#include "cmd/lib/command.h"

/* Parses "7d" (ago), "2026-11-01", or a date with a time. Returns EXIT_OK, or EXIT_USAGE after
 * printing a message. */
int when_parse(const struct command *c, const char *option, const char *text, int64_t now, int64_t *ret);

#endif
