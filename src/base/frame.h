/*
 * frame.h - frames on connections: a JSON head and data. A frame is the length of the rest and the
 * length of the head (4 bytes each, big endian), the head, and the data. docs/protocol.md describes
 * the heads.
 */
#ifndef BASE_FRAME_H
#define BASE_FRAME_H

#include <sys/types.h>

#include "base/strbuf.h"

/* Finds the frame at the start of a buffer. Returns its size in bytes; 0 if it is incomplete;
 * -EMSGSIZE if more than `most` bytes follow the first 4; -EINVAL if it is malformed. */
ssize_t frame_next(const char *buf, size_t n, size_t most, const char **ret_head, size_t *ret_nhead,
		   const char **ret_data, size_t *ret_n);
/* Writes a frame up to its `n` bytes of data. */
void frame_begin(struct strbuf *out, const char *head, size_t nhead, size_t n);
void frame_put(struct strbuf *out, const char *head, size_t nhead, const void *data, size_t n);

#endif
