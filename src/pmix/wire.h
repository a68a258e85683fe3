/*
 * wire.h - frames (base/frame.h) over descriptors that are polled: between `shunt launch` and a shunt-pmix on each host, and between
 * a program of a job and the agent that starts its tasks.
 *
 * Bounded by whoever uses it: wire_full() says that the other end is slow, and then nothing more should be read for it.
 */
#ifndef PMIX_WIRE_H
#define PMIX_WIRE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"

#define WIRE_FRAME_MAX (256u << 20) /* what all ranks of a program tell each other at its start is one frame */
#define WIRE_FULL 262144

struct wire {
	int in, out; /* its own; they may be the same; -1: closed */
	struct strbuf from, to;
	size_t taken, sent; /* bytes of `from` and `to` that are done with */
};

/* The descriptors become non-blocking, and the wire's. */
void wire_init(struct wire *w, int in, int out);
void wire_fini(struct wire *w);

/* Reads once. Bytes; 0: nothing is there now; -EPIPE: the other end has closed. */
ssize_t wire_fill(struct wire *w);
/* The next whole frame: 1, and *ret_head is the caller's, the data borrowed until the next wire_fill(); 0: there is none; -EBADMSG: that is none. */
int wire_next(struct wire *w, json_t **ret_head, const char **ret_data, size_t *ret_n);

/* Queues a frame; `head` is taken over. */
void wire_put(struct wire *w, json_t *head, const void *data, size_t n);
/* The same, with a head by json_pack(). */
void wire_pack(struct wire *w, const void *data, size_t n, const char *fmt, ...);
bool wire_full(const struct wire *w);
bool wire_waits(const struct wire *w); /* something is queued */
/* Sends what goes without waiting. -EPIPE: nobody reads any more. */
int wire_push(struct wire *w);

#endif
