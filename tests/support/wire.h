/*
 * wire.h - two ends of a connection in one process and one loop, so that every moment can be chosen: links, and raw ends that write
 * what no link would. With an authority and certificates of the tests' own.
 */
#ifndef SUPPORT_WIRE_H
#define SUPPORT_WIRE_H

#include "base/vec.h"
#include "net/link.h"

void turn(uv_loop_t *loop); /* once, within a millisecond if nothing happens: others need the processor, too */
/* Turns the loop until it is so; a minute without it is a failure. */
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
	struct tls_context *server, *node, *stranger,
		*foreign; /* the last: trusts the server, but its certificate is of another cluster, whose authority has the same name */
};
void trust_init(struct trust *t);
void trust_fini(struct trust *t);
/* A context of one certificate, valid for `life` seconds. */
struct tls_context *trust_issue(const struct trust *t, const struct cert_names *who, int64_t life, bool server);

/* ---- an end that is a link ---- */

struct seen {
	char *head; /* its text */
	char *data;
	size_t n;
};

struct end {
	struct link *link; /* NULL after `closed` */
	int readies, drains, closes;
	VEC(struct seen) frames;
	char reason[300];
	void (*on_frame)(struct end *e, json_t *head); /* may be NULL; after the frame was noted */
	bool quiet;				       /* frames are counted in `count`, not kept */
	size_t count, bytes;
};
extern const struct link_events end_events; /* the context is a struct end */
void end_fini(struct end *e);

/* ---- an end that writes what it likes ---- */

struct raw {
	uv_loop_t *loop;
	int fd;
	struct tls *tls; /* NULL: plain */
};
/* Connected to `port` of 127.0.0.1; with a context TLS has begun, with `alpn`. */
struct raw raw_connect(uv_loop_t *loop, int port, struct tls_context *c, const char *alpn);
struct raw raw_connect_from(uv_loop_t *loop, const char *from, int port, struct tls_context *c, const char *alpn);
bool raw_shake(struct raw *r);				  /* turns the loop; false: it was refused */
bool raw_write(struct raw *r, const void *buf, size_t n); /* turns the loop while there is no room; false: closed */
ssize_t raw_read(struct raw *r, void *buf,
		 size_t n); /* turns the loop until something is there; 0: the end, or an error */
void raw_close(struct raw *r);

#endif
