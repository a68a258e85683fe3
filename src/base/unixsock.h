/*
 * unixsock.h - UNIX sockets by path, of any length.
 *
 * The kernel takes 107 bytes; a longer path is reached through /proc/self/fd/N/NAME of its opened directory. All
 * descriptors are close-on-exec. Each returns a descriptor, or -errno with a sentence.
 */
#ifndef BASE_UNIXSOCK_H
#define BASE_UNIXSOCK_H

#include "base/err.h"

/* Listens at `path`, which gets the permissions `mode` at once. A socket file that nobody answers on is removed
 * first; -EADDRINUSE: somebody does, or there is a file that is no socket. Two that may do this at once for one path
 * need a lock of their own. */
int unix_listen(const char *path, int mode, struct err *err);
/* The same for datagrams: a socket bound to `path`. */
int unix_bind_datagram(const char *path, int mode, struct err *err);

/* Connects, and waits up to `timeout_ms` (0: without end) while the listener's queue is full: then -EAGAIN. -ENOENT,
 * -ECONNREFUSED: nobody is there. */
int unix_connect(const char *path, int timeout_ms, struct err *err);
int unix_connect_datagram(const char *path, struct err *err);

#endif
