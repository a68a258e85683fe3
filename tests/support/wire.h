/*
 * wire.h - two ends of a connection in one process and one loop, so that tests control every step:
 * links, and raw ends that write what no link would. Has an authority and certificates for tests.
 */
#ifndef SUPPORT_WIRE_H
#define SUPPORT_WIRE_H

#include "base/vec.h"
#include "net/link.h"

/* Turns the loop once, waiting at most a millisecond so that other processes can run. */
void turn(uv_loop_t *loop);
/* Turns the loop until the condition holds; fails after a minute. */
#define TURN_UNTIL(loop, condition)                                                                                    \
	do {                                                                                                           \
		uint64_t end_ = uv_hrtime() + 60 * (uint64_t)1000000000;                                               \
		while (!(condition)) {                                                                                 \
			turn(loop);                                                                                    \
			if (uv_hrtime() > end_)                                                                        \
				fail_msg("a minute later still not: %s", #condition);                                  \
		}                                                                                                      \
	} while (0)

/* ---- certificates ---- */

struct trust {
	struct strbuf authority_key, authority_cert;
	/* `foreign` trusts the server, but its certificate is from another cluster whose authority
	 * has the same name */
	struct tls_context *server, *node, *stranger, *foreign;
};
void trust_init(struct trust *t);
void trust_fini(struct trust *t);
/* Creates a context with a certificate valid for `life` seconds. */
struct tls_context *trust_issue(const struct trust *t, const struct cert_names *who, int64_t life, bool server);

/* ---- an end that is a link ---- */

struct seen {
	char *head; /* JSON text */
	char *data;
	size_t n;
};

struct end {
	struct link *link; /* NULL after `closed` */
	int readies, drains, closes;
	VEC(struct seen) frames;
	char reason[300];
	/* called after the frame is noted; may be NULL */
	void (*on_frame)(struct end *e, json_t *head);
	bool quiet; /* true: frames are counted in `count` and not kept */
	size_t count, bytes;
};
extern const struct link_events end_events; /* their context is a struct end */
void end_fini(struct end *e);

/* ---- a raw end, which writes arbitrary bytes ---- */

struct raw {
	uv_loop_t *loop;
	int fd;
	struct tls *tls; /* NULL: plain */
};
/* Connects to `port` of 127.0.0.1; with a context it begins TLS, with `alpn`. */
struct raw raw_connect(uv_loop_t *loop, int port, struct tls_context *c, const char *alpn);
struct raw raw_connect_from(uv_loop_t *loop, const char *from, int port, struct tls_context *c, const char *alpn);
bool raw_shake(struct raw *r); /* turns the loop; false: it was refused */
/* Turns the loop while the socket is full; false: closed. */
bool raw_write(struct raw *r, const void *buf, size_t n);
ssize_t raw_read(struct raw *r, void *buf, size_t n); /* turns the loop until there is input; 0: EOF or an error */
void raw_close(struct raw *r);

#endif
