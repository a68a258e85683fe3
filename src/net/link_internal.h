/*
 * link_internal.h - the interface between links (link.c), connecting (link_connect.c) and the port
 * (listener.c).
 *
 *	DIALS    resolves the address and connects; there is no descriptor yet
 *	SHAKES   the TLS handshake
 *	OPEN     frames; with `closing` set only out, until the queue is empty
 *	LEAVES   everything was sent and our direction shut: waits for the other side's end, so
 *	         that the kernel does not discard data in transit
 *	GONE     handles are closing; then `closed` is called and the memory freed
 *
 * Stages only go forward.
 */
#ifndef NET_LINK_INTERNAL_H
#define NET_LINK_INTERNAL_H

#include "net/link.h"

#define STEP_MS 10000 /* ms for each step of connecting: resolve, connect, handshake */

enum link_stage { LINK_DIALS, LINK_SHAKES, LINK_OPEN, LINK_LEAVES, LINK_GONE };

struct dial;

struct link {
	uv_loop_t *loop;
	struct link_events e;
	void *context;
	enum link_stage stage;
	int fd;		  /* owned by tls, if there is one; -1: none yet */
	struct tls *tls;  /* NULL: plain */
	uv_poll_t poll;	  /* exists once there is a descriptor */
	uv_timer_t timer; /* timeout of the stage, and of closing */
	uv_idle_t later;  /* runs once, before the loop waits: sends what this turn queued */
	int handles;	  /* handles not closed yet */
	int events;	  /* events polled for */
	bool greets;	  /* `ready` is due */
	bool trusted, paused, closing;
	bool notices; /* end the link when the other side closes, even while paused */
	bool more;    /* there may be input that polling does not report */
	bool blocked; /* the socket takes no more output */
	bool crossed; /* TLS must write before it can read more */
	/* a partial frame, or input received before a pause; frames up to `taken` were delivered */
	struct strbuf in;
	size_t taken;
	struct link_share *share; /* counts the bytes of `in`; NULL: they are not counted */
	struct strbuf out;	  /* sent up to `sent` */
	size_t sent;
	int64_t heard;
	int64_t until; /* instant at which the peer's certificate expires; 0: never */
	char *reason;
	struct dial *dial; /* while it dials */
	/* called after `closed`: the port it came by counts it; may be NULL */
	void (*gone)(void *of);
	void *gone_of;
};

/* Creates a link without a socket, which dials. */
struct link *link_create(uv_loop_t *loop, const struct link_events *e, void *context);
/* Gives the link its socket. `shaken`: the handshake is done, and `ready` is not called. */
void link_begin(struct link *l, int fd, struct tls *tls, bool shaken);
/* Ends the link at once. The first reason counts. */
void link_fail(struct link *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Closes its handles; then `closed` is called and the memory freed. */
void link_gone(struct link *l);

/* Cancels dialling (link_connect.c). */
void dial_drop(struct dial *d);

#endif
