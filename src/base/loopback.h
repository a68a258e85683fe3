/*
 * loopback.h - identifies the peer of a TCP connection within this machine. Any user can connect to
 * a port on 127.0.0.1; the kernel knows who owns each socket.
 */
#ifndef BASE_LOOPBACK_H
#define BASE_LOOPBACK_H

#include <stdint.h>

#define LOOPBACK_NOBODY ((int64_t)-1)

/* Returns the uid that owns the other end; LOOPBACK_NOBODY if it is closed, on another machine,
 * or unknown. */
int64_t loopback_owner(int fd);

#endif
