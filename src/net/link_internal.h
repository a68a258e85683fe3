/*
 * link_internal.h - what a link (link.c), the way to it (link_connect.c) and the port (listener.c) share.
 *
 *	DIALS    looks for the address and connects; there is no descriptor yet
 *	SHAKES   the TLS handshake
 *	OPEN     frames; with `closing` set only out, until the queue is empty
 *	LEAVES   everything was sent and our direction shut: the other side's end is awaited, so that the kernel does not
 *	         throw away what is on its way
 *	GONE     handles are closing; then `closed`, then the memory goes
 *
 * Stages only go forward.
 */
#ifndef NET_LINK_INTERNAL_H
#define NET_LINK_INTERNAL_H

#include "net/link.h"

#define STEP_MS 10000 /* for each step on the way: to look up, to connect, to shake hands */

enum link_stage { LINK_DIALS, LINK_SHAKES, LINK_OPEN, LINK_LEAVES, LINK_GONE };

struct dial;

struct link {
	uv_loop_t *loop;
	struct link_events e;
	void *context;
	enum link_stage stage;
	int fd;		  /* tls owns it, if there is one; -1: none yet */
	struct tls *tls;  /* NULL: plain */
	uv_poll_t poll;	  /* there is one as soon as there is a descriptor */
	uv_timer_t timer; /* of the stage, and of closing */
	uv_idle_t later;  /* runs once, before the loop waits: sends what this turn queued */
	int handles;	  /* not closed yet */
	int events;	  /* that are polled for */
	bool greets;	  /* `ready` is due */
	bool trusted, paused, closing;
	bool notices;	  /* the other side's end, also while paused */
	bool more;	  /* there may be input that polling won't tell of */
	bool blocked;	  /* the socket takes no more output */
	bool crossed;	  /* TLS must write before it can read on */
	struct strbuf in; /* a part of a frame, or what came in before a pause; frames up to `taken` were handed over */
	size_t taken;
	struct link_share *share; /* counts `in`; NULL: nobody does */
	struct strbuf out;	  /* sent up to `sent` */
	size_t sent;
	int64_t heard;
	int64_t until; /* instant: the other side's certificate expires; 0: never */
	char *reason;
	struct dial *dial;	/* while it dials */
	void (*gone)(void *of); /* told after `closed`: the port that it came by counts it; may be NULL */
	void *gone_of;
};

/* A link without a socket, which dials. */
struct link *link_create(uv_loop_t *loop, const struct link_events *e, void *context);
/* It has one now. `shaken`: the handshake is done, and nobody needs to be told. */
void link_begin(struct link *l, int fd, struct tls *tls, bool shaken);
/* Ends it at once. The first reason counts. */
void link_fail(struct link *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Closes its handles: then comes `closed`, and the memory goes. */
void link_gone(struct link *l);

/* link_connect.c: the link does not want it any more. */
void dial_drop(struct dial *d);

#endif
