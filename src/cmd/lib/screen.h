/*
 * screen.h - cleans what commands print on standard output and standard error with text_clean()
 * (base/text.h), because other users wrote much of it. Exceptions are explicit: screen_raw().
 */
#ifndef CMD_SCREEN_H
#define CMD_SCREEN_H

#include <stddef.h>
#include <stdio.h>

/* Starts to clean `stdout` and `stderr`. Must be called before anything is printed. */
void screen_begin(void);
/* Prints what is still buffered. Returns the exit code: output that can't be written is a
 * failure. */
int screen_end(int code);
/* Writes bytes unchanged, after what `out` (stdout or stderr) has printed so far: our own colors,
 * and the user's own data (docs/security.md lists the uses). Returns 0 or -errno. */
int screen_raw(FILE *out, const char *data, size_t n);
/* Prints our own escape sequences like screen_raw(). No argument may contain text that others
 * wrote. */
void screen_style(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
