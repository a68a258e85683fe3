/*
 * link.h - frames over a connection, usually TLS, in a libuv loop: what server and agents, and agents among each other, talk.
 *
 * docs/protocol.md lists the heads. Nothing here knows them. Order is kept; a link that is closed loses what was not sent, and whoever
 * needs more repeats it after the next connection.
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

#define LINK_HEAD_MAX (8u << 20) /* an order with its environment */
#define LINK_DATA_MAX (1u << 20)
#define LINK_STRANGER_MAX 65536	   /* of a frame, until link_trust() */
#define LINK_LOW 262144		   /* `drained` is called when less than this is queued */
#define LINK_QUEUE_MAX (64u << 20) /* a link for which more than this waits is closed: its other end does not read */
#define LINK_SHARE_MAX (64u << 20) /* of those who share: link_share() */

/* Any of them may be NULL. */
struct link_events {
	void (*ready)(void *context, struct link *l); /* the handshake is done: link_peer() */
	void (*frame)(void *context, struct link *l, json_t *head, const char *data, size_t n); /* head is borrowed */
	void (*drained)(void *context, struct link *l); /* something left, and less than LINK_LOW waits */
	/* The last call, whoever closed it (link_close() included, then with its reason), never from inside another call of this link; `l` is freed after it. */
	void (*closed)(void *context, struct link *l, const char *reason);
};

/* Over a socket that is connected. `tls` NULL: plain, for UNIX sockets. Both are taken over. `ready` follows in a later turn. */
struct link *link_open(uv_loop_t *loop, int fd, struct tls *tls, const struct link_events *e, void *context);
/* Resolves and connects, with a timeout of 10 s for each step, and TLS with `expect`. `c` gets a reference of its own. `where`: "host:port", "[v6]:port". Trouble is told by `closed`. */
struct link *link_connect(uv_loop_t *loop, struct tls_context *c, const char *where, enum cert_role expect,
			  const struct link_events *e, void *context);
void link_events_set(struct link *l, const struct link_events *e, void *context); /* hand a link to another owner */
void link_trust(struct link *l); /* frames may have their full size now */
/* Links of one user, or of one host, share what is kept of frames whose rest has not come (LINK_SHARE_MAX): who then adds more is
 * closed. Else a thousand links with a large frame each that never ends would take all memory. `share` outlives the link. */
struct link_share {
	size_t held; /* bytes */
};
void link_share(struct link *l, struct link_share *share);
void link_close(struct link *l, const char *reason); /* what was sent before leaves, for at most 5 s */
/* At once, and the other side learns it although it does not read: what is on the way is lost. `closed` follows. */
void link_abort(struct link *l, const char *reason);
void link_pause(struct link *l, bool pause); /* don't read: the sender will feel it */
/* Also while paused, the other side's going ends the link, and what it sent before and was not read is lost: for who must know that nobody is there any more. */
void link_notice_end(struct link *l);

/* Queues a frame: `head` is the text of a JSON object. It leaves in this turn of the loop or later. */
void link_send(struct link *l, const char *head, size_t nhead, const void *data, size_t n);
/* The usual: {"t": type, ...} by jansson's json_pack(), "t" included: link_pack(l, data, n, "{s:s,s:i}", "t", "pong", "n", 3). */
void link_pack(struct link *l, const void *data, size_t n, const char *fmt, ...);
size_t link_queued(const struct link *l); /* bytes that wait */
bool link_orphaned(const struct link *l); /* for `closed`: the other program ended without closing the link */
int64_t link_heard(const struct link *l); /* uv_now() of the last byte that came in */

/* A connection without its link: what another loop, or another process after a fork, needs to go on with it. */
struct link_detached {
	int fd;
	struct tls *tls;
	struct strbuf in; /* bytes that came, of frames that were not handed over */
	bool trusted, notices;
};
/* Takes it out of a link that is paused and for which nothing is queued, not from inside the link's own calls. The link is freed, without
 * `closed`. -ENOTCONN: it is closing, and `closed` comes as usual. */
int link_detach(struct link *l, struct link_detached *ret);
/* A link over it, paused. What it has is taken over. */
struct link *link_attach(uv_loop_t *loop, const struct link_detached *detached, const struct link_events *e,
			 void *context);
/* Another process goes on with it: nothing is said, only what we have of it goes. */
void link_abandon(struct link_detached *detached);

void link_peer(const struct link *l, struct cert_names *ret);
/* A link ends when the certificate of the other side expires: nothing is sent or handed over from then on. This sets another instant, as when it has a new
 * one; 0: it does not end. */
void link_expire(struct link *l, int64_t until);
void link_address(const struct link *l, char *ret, size_t size); /* of the other end, numeric, without port */

#endif
