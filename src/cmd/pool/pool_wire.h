/*
 * pool_wire.h - a command's end of the socket of this machine's pool daemon
 * (station/pool_client.c): frames, blocking.
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
	size_t at;   /* frames before it are done */
	size_t sent; /* bytes of `out` */
};

/* -ECONNREFUSED, -ENOENT: no daemon runs, and the sentence says what to do. */
int pool_wire_open(struct pool_wire *w, struct err *err);
void pool_wire_close(struct pool_wire *w);
/* `head` is taken over. Never waits: what the daemon does not take yet is kept. */
int pool_wire_send(struct pool_wire *w, json_t *head, const void *data, size_t n);
int pool_wire_send_text(struct pool_wire *w, const char *head, const void *data, size_t n);
int pool_wire_flush(struct pool_wire *w);
static inline bool pool_wire_waits(const struct pool_wire *w) /* to be flushed when the socket takes more */
{
	return w->out.n > w->sent;
}
/* Reads what there is, waiting for it: 0: the end. */
int pool_wire_fill(struct pool_wire *w);
/* The next frame that came whole: 1, with a head that is the caller's and data borrowed until the
 * next fill; 0: none; -EPROTO. */
int pool_wire_next(struct pool_wire *w, json_t **ret_head, const char **ret_data, size_t *ret_n);

#endif
