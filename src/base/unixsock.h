/*
 * unixsock.h - UNIX sockets at paths of any length.
 *
 * The kernel accepts 107 bytes; a longer path is reached through /proc/self/fd/N/NAME of its opened
 * directory. All descriptors are close-on-exec. Each function returns a descriptor, or -errno with
 * a message.
 */
#ifndef BASE_UNIXSOCK_H
#define BASE_UNIXSOCK_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"

/* Listens at `path`, created with the permissions `mode`. A socket file on which nobody answers
 * is removed first. -EADDRINUSE: somebody answers, or the file is not a socket. Processes that
 * may do this at once for the same path need a lock of their own. */
int unix_listen(const char *path, int mode, struct err *err);
/* Binds a datagram socket to `path`, like unix_listen(). */
int unix_bind_datagram(const char *path, int mode, struct err *err);

/* Connects; waits up to `timeout_ms` (0: forever) while the listener's queue is full, then
 * returns -EAGAIN. -ENOENT, -ECONNREFUSED: nobody listens. */
int unix_connect(const char *path, int timeout_ms, struct err *err);

#define UNIX_FDS_MOST 64 /* descriptors that can be sent with one message */

/* Sends like sendmsg(), never with SIGPIPE, with copies of `nfds` descriptors. */
ssize_t unix_send(int fd, struct iovec *parts, size_t n, const int *fds, size_t nfds, int flags);
/* Receives like recv(). Stores at most `most` descriptors that came along, close-on-exec, and
 * their number; closes the others. */
ssize_t unix_receive(int fd, void *buf, size_t size, int *fds, size_t most, size_t *ret_nfds, int flags);

#endif
