/*
 * screen.h - what commands write passes through here: whatever they print on standard output and standard error is cleaned by
 * text_clean() (base/text.h), because much of it was written by other users. The exceptions name themselves: screen_raw().
 */
#ifndef CMD_SCREEN_H
#define CMD_SCREEN_H

#include <stddef.h>
#include <stdio.h>

/* From here on `stdout` and `stderr` are cleaned. Before anything is printed. */
void screen_begin(void);
/* Writes bytes as they are, behind what `out` (stdout or stderr) has printed so far: colors of our own, and what is the user's own
 * (docs/security.md lists the uses). 0 or -errno. */
int screen_raw(FILE *out, const char *data, size_t n);
/* The same with a format: escape sequences of our own. Nothing that others wrote may be among the arguments. */
void screen_style(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
