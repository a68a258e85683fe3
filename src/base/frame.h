/*
 * frame.h - a JSON head and data as bytes, for connections: 4 bytes length of the whole rest, 4 bytes length of the head (big endian),
 * head, data. Nothing here knows what heads say: docs/protocol.md does.
 */
#ifndef BASE_FRAME_H
#define BASE_FRAME_H

#include <sys/types.h>

#include "base/strbuf.h"

/* One frame at the start of a buffer: how many bytes it takes; 0: not whole yet; -EMSGSIZE: more than `most` after its first 4 bytes; -EINVAL: that is none. */
ssize_t frame_next(const char *buf, size_t n, size_t most, const char **ret_head, size_t *ret_nhead,
		   const char **ret_data, size_t *ret_n);
void frame_put(struct strbuf *out, const char *head, size_t nhead, const void *data, size_t n);

#endif
