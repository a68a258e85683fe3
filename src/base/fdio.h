/*
 * fdio.h - reads and writes everything, on a descriptor that waits.
 */
#ifndef BASE_FDIO_H
#define BASE_FDIO_H

#include <stddef.h>

struct strbuf;

/* Writes all bytes. Returns 0, or -errno after a part of them. */
int fd_write(int fd, const void *data, size_t n);
/* Appends all bytes up to the end. Returns 0, -EFBIG if there are more than `most`, of which it has
 * appended that many, or -errno. */
int fd_read(int fd, size_t most, struct strbuf *out);

#endif
