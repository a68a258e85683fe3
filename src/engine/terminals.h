/*
 * terminals.h - the socket to which the shepherds of this host's interactive jobs connect their
 * terminals (run/pty.h).
 */
#ifndef ENGINE_TERMINALS_H
#define ENGINE_TERMINALS_H

#include <uv.h>

#include "base/err.h"

struct terminals;

/* Creates the socket `path`; `live` is the directory of live files. `came` gets a descriptor, which
 * it owns, from the shepherd of that attempt and no other process. */
int terminals_open(uv_loop_t *loop, const char *path, const char *live,
		   void (*came)(void *context, const char *tag, int fd), void *context, struct terminals **ret,
		   struct err *err);
/* Closes the socket; connections already taken stay open. NULL is allowed. */
void terminals_close(struct terminals *t);

#endif
