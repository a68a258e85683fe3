/*
 * cable.h - frames (base/frame.h) over polled descriptors: between `shunt launch` and the
 * shunt-pmix of each host, and between a program of a job and the agent that starts its tasks.
 *
 * The caller bounds the memory: once cable_full() returns true the other end is slow, and the
 * caller should stop reading input meant for it.
 */
#ifndef PMIX_CABLE_H
#define PMIX_CABLE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"

/* bytes; the data that all ranks exchange at the start of a program is one frame */
#define WIRE_FRAME_MAX (256u << 20)
#define WIRE_FULL 262144

struct cable {
	int in, out; /* owned; may be the same; -1: closed */
	struct strbuf from, to;
	size_t taken, sent; /* bytes of `from` consumed and of `to` sent */
};

/* Takes the descriptors over and makes them non-blocking. */
void cable_init(struct cable *w, int in, int out);
void cable_fini(struct cable *w);

/* Reads once. Returns the bytes read; 0: nothing available now; -EPIPE: the other end has
 * closed. */
ssize_t cable_fill(struct cable *w);
/* Takes the next whole frame: returns 1, the caller owns *ret_head, and the data is borrowed
 * until the next cable_fill(). 0: no whole frame yet; -EBADMSG: not a frame. */
int cable_next(struct cable *w, json_t **ret_head, const char **ret_data, size_t *ret_n);

/* Queues a frame; takes `head` over. */
void cable_put(struct cable *w, json_t *head, const void *data, size_t n);
/* Queues a frame with a head built by json_pack(). */
void cable_pack(struct cable *w, const void *data, size_t n, const char *fmt, ...);
bool cable_full(const struct cable *w);
bool cable_waits(const struct cable *w); /* true if anything is queued */
/* Sends what can be sent without waiting. -EPIPE: the other end no longer reads. */
int cable_push(struct cable *w);

#endif
