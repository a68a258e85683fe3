/*
 * pool_wire.h - a command's connection to this machine's pool daemon (station/pool_client.c):
 * frames, blocking.
 */
#ifndef CMD_POOL_WIRE_H
#define CMD_POOL_WIRE_H

#include <jansson.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "station/pool_home.h"

struct pool_wire {
	int fd;
	struct strbuf in, out;
	size_t at;   /* frames before this offset are done */
	size_t sent; /* bytes of `out` already sent */
};

/* Connects. Returns -ECONNREFUSED or -ENOENT if no daemon runs; the message says what to do. */
int pool_wire_open(struct pool_wire *w, struct err *err);
void pool_wire_close(struct pool_wire *w);
/* Sends a frame and consumes `head`. Never blocks: bytes that the daemon does not accept yet are
 * kept. */
int pool_wire_send(struct pool_wire *w, json_t *head, const void *data, size_t n);
int pool_wire_flush(struct pool_wire *w);
/* Must be flushed once the socket is writable. */
static inline bool pool_wire_waits(const struct pool_wire *w)
{
	return w->out.n > w->sent;
}
/* Reads the available bytes, waiting for some. Returns 0 at the end. */
int pool_wire_fill(struct pool_wire *w);
/* Takes the next complete frame. Returns 1 with a head that the caller frees and data borrowed
 * until the next fill; 0: none; -EPROTO. */
int pool_wire_next(struct pool_wire *w, json_t **ret_head, const char **ret_data, size_t *ret_n);

#endif
