/*
 * background.h - a daemon's way into the background.
 */
#ifndef BASE_BACKGROUND_H
#define BASE_BACKGROUND_H

#include <sys/types.h>

#include "base/err.h"

/* Continues in a child with a session of its own, in /, with its standard error in the file `log`.
 * Returns 0 in the child, which writes "+" to *ret_ready once it is up, or "-" and the reason why
 * it is not. Returns in the parent after that: 1 if the child is up, else -errno and the reason. */
int background_begin(const char *log, mode_t mode, int *ret_ready, struct err *err);

#endif
