/*
 * link.h - frames over a connection, usually TLS, in a libuv loop: the transport between server and
 * agents, and between agents.
 *
 * docs/protocol.md lists the heads; nothing here interprets them. Order is kept. A link that is
 * closed loses what was not sent; callers that need more send it again after reconnecting.
 */
#ifndef NET_LINK_H
#define NET_LINK_H

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/json.h"
#include "tls/tls.h"

struct link;
struct schema;

#define LINK_HEAD_MAX (8u << 20) /* largest head, bytes: an order with its environment */
#define LINK_DATA_MAX (4u << 20) /* largest data, bytes: a script */
#define LINK_STRANGER_MAX 65536	 /* largest frame before link_trust(), bytes */
#define LINK_LOW 262144		 /* `drained` is called when less than this is queued */
/* a link with more queued is closed: its other end does not read */
#define LINK_QUEUE_MAX (64u << 20)
#define LINK_SHARE_MAX (64u << 20) /* limit for links that share: link_share() */

/* Any of these may be NULL. */
struct link_events {
	/* The handshake is done: link_peer() is valid. */
	void (*ready)(void *context, struct link *l);
	void (*frame)(void *context, struct link *l, json_t *head, const char *data, size_t n); /* head is borrowed */
	/* output was sent, and less than LINK_LOW is queued */
	void (*drained)(void *context, struct link *l);
	/* The last call, no matter which end closed the link (after link_close() with its
	 * reason), never from inside another call of this link; `l` is freed after it. */
	void (*closed)(void *context, struct link *l, const char *reason);
};

/* Opens a link over a connected socket. `tls` NULL: plain, for UNIX sockets. Takes both over.
 * `ready` follows in a later turn. */
struct link *link_open(uv_loop_t *loop, int fd, struct tls *tls, const struct link_events *e, void *context);
/* Resolves, connects and shakes hands with `expect`, with a timeout of 10 s for each step. Takes
 * a reference of `c`. `where`: "host:port", "[v6]:port". Failures are reported by `closed`. */
struct link *link_connect(uv_loop_t *loop, struct tls_context *c, const char *where, enum cert_role expect,
			  const struct link_events *e, void *context);
/* Hands the link to another owner. */
void link_events_set(struct link *l, const struct link_events *e, void *context);
void link_trust(struct link *l); /* allows frames of full size from now on */
/* Links of one user or host share a limit (LINK_SHARE_MAX) on the memory for incomplete frames;
 * a link that exceeds it is closed. Otherwise a thousand links, each with a large frame that
 * never ends, would take all memory. `share` outlives the link. */
struct link_share {
	size_t held; /* bytes */
};
void link_share(struct link *l, struct link_share *share);
void link_close(struct link *l, const char *reason); /* sends what is queued, for at most 5 s */
/* Closes the link at once; the other side notices even if it does not read, and data in transit
 * is lost. `closed` follows. */
void link_abort(struct link *l, const char *reason);
void link_pause(struct link *l, bool pause); /* stops reading, which slows the sender down */
/* Ends the link when the other side closes, even while paused; unread data is lost. For callers
 * that must know that the other side is gone. */
void link_notice_end(struct link *l);

/* Queues a frame; `head` is the text of a JSON object. It is sent in this turn of the loop or
 * later. */
void link_send(struct link *l, const char *head, size_t nhead, const void *data, size_t n);
/* Queues a frame with a head by jansson's json_pack(), "t" included: link_pack(l, data, n,
 * "{s:s,s:i}", "t", "pong", "n", 3). */
void link_pack(struct link *l, const void *data, size_t n, const char *fmt, ...);
/* Queues a frame of a type with the members of a record, as record_show() writes them. */
void link_record(struct link *l, const char *type, const struct schema *t, const void *record);
/* The same, with data. */
void link_record_data(struct link *l, const char *type, const struct schema *t, const void *record, const void *data,
		      size_t n);
size_t link_queued(const struct link *l); /* bytes queued */
/* Returns true, within `closed`, if the other program ended without closing the link. */
bool link_orphaned(const struct link *l);
int64_t link_heard(const struct link *l); /* uv_now() of the last byte received */

/* A connection without its link: what another loop, or another process after a fork, needs to
 * continue it. */
struct link_detached {
	int fd;
	struct tls *tls;
	struct strbuf in; /* bytes received, of frames not delivered yet */
	bool trusted, notices;
};
/* Detaches the connection from a link that is paused and has nothing queued; not from inside the
 * link's own calls. The link is freed without `closed`. -ENOTCONN: it is closing, and `closed`
 * follows as usual. */
int link_detach(struct link *l, struct link_detached *ret);
/* Creates a paused link over the connection; it owns what is in `detached`. */
struct link *link_attach(uv_loop_t *loop, const struct link_detached *detached, const struct link_events *e,
			 void *context);
/* Frees our copy of a connection that another process continues; sends nothing. */
void link_abandon(struct link_detached *detached);

void link_peer(const struct link *l, struct cert_names *ret);
/* A link ends when the peer's certificate expires: nothing is sent or delivered after that. This
 * sets another instant, for instance after a renewal; 0: never. */
void link_expire(struct link *l, int64_t until);
/* Writes the numeric address of the other end, without port. */
void link_address(const struct link *l, char *ret, size_t size);

#endif
