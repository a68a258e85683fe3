/*
 * loopback.h - who is at the other end of a TCP connection within this machine. Every user can connect to a port of 127.0.0.1; the kernel knows whose each socket is.
 */
#ifndef BASE_LOOPBACK_H
#define BASE_LOOPBACK_H

#include <stdint.h>

#define LOOPBACK_NOBODY ((int64_t)-1)

/* The user who has the other end; LOOPBACK_NOBODY: it is closed already, on another machine, or not known. */
int64_t loopback_owner(int fd);

#endif
