/*
 * cable.h - frames (base/frame.h) over descriptors that are polled: between `shunt launch` and a shunt-pmix on each host, and between
 * a program of a job and the agent that starts its tasks.
 *
 * Bounded by whoever uses it: cable_full() says that the other end is slow, and then nothing more should be read for it.
 */
#ifndef PMIX_CABLE_H
#define PMIX_CABLE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"

#define WIRE_FRAME_MAX (256u << 20) /* what all ranks of a program tell each other at its start is one frame */
#define WIRE_FULL 262144

struct cable {
	int in, out; /* its own; they may be the same; -1: closed */
	struct strbuf from, to;
	size_t taken, sent; /* bytes of `from` and `to` that are done with */
};

/* The descriptors become non-blocking, and the cable's. */
void cable_init(struct cable *w, int in, int out);
void cable_fini(struct cable *w);

/* Reads once. Bytes; 0: nothing is there now; -EPIPE: the other end has closed. */
ssize_t cable_fill(struct cable *w);
/* The next whole frame: 1, and *ret_head is the caller's, the data borrowed until the next cable_fill(); 0: there is none; -EBADMSG: that is none. */
int cable_next(struct cable *w, json_t **ret_head, const char **ret_data, size_t *ret_n);

/* Queues a frame; `head` is taken over. */
void cable_put(struct cable *w, json_t *head, const void *data, size_t n);
/* The same, with a head by json_pack(). */
void cable_pack(struct cable *w, const void *data, size_t n, const char *fmt, ...);
bool cable_full(const struct cable *w);
bool cable_waits(const struct cable *w); /* something is queued */
/* Sends what goes without waiting. -EPIPE: nobody reads any more. */
int cable_push(struct cable *w);

#endif
