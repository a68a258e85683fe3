/*
 * terminals.h - where the terminals of this host's interactive jobs are taken: a socket, to which their shepherds connect (run/pty.h).
 */
#ifndef ENGINE_TERMINALS_H
#define ENGINE_TERMINALS_H

#include <uv.h>

#include "base/err.h"

struct terminals;

/* `path` is the socket to make, `live` the directory of live files. `came`: a descriptor that is the caller's, of the shepherd of that attempt, and of no other process. */
int terminals_open(uv_loop_t *loop, const char *path, const char *live,
		   void (*came)(void *context, const char *tag, int fd), void *context, struct terminals **ret,
		   struct err *err);
void terminals_close(struct terminals *t); /* those that came live on; NULL is none */

#endif
