/*
 * tls.h - TLS 1.3 over a non-blocking socket that the caller polls.
 *
 * A program that uses it ignores SIGPIPE. One thread. Errors that say what is wrong: -EKEYEXPIRED (a certificate is not valid at this time),
 * -EKEYREVOKED (the node was removed, ours or the other), -EKEYREJECTED (wrong authority or role; or the other side says so of ours, which with TLS 1.3 a client learns from its first read),
 * -EPROTO (this is no TLS 1.3, or nothing of Shunt), -ECONNRESET (closed without a goodbye).
 */
#ifndef TLS_TLS_H
#define TLS_TLS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "tls/pki.h"
#include "tls/revoked.h"

struct tls_context; /* an identity and whom it trusts; sessions keep their own reference */
struct tls;	    /* one connection */

#define TLS_FRAMES "shunt/1"	  /* ALPN: frames (net/link.h); */
#define TLS_HTTP "http/1.1"	  /* ... the API: also for those who ask for nothing; */
#define TLS_SPOOL "shunt-spool/1" /* ... frames of a user who has no certificate, with an agent (agent/callers.c) */

/* `cert` and `key` may be NULL for a client without an identity. Trust: the authority's certificate `ca`, or, when that is not known
 * yet, the first digits of its fingerprint: then the authority's certificate must be in the chain that the server sends (ours does),
 * and hash to it, and the server's must be signed by it. */
struct tls_options {
	const char *cert, *key, *ca, *fingerprint;
	const struct revoked *revoked; /* nodes that are refused; borrowed, and may change. NULL: none */
};
int tls_context_create(const struct tls_options *o, bool server, struct tls_context **ret, struct err *err);
/* For browsers: a certificate that others have signed, and its key, from files (PEM; the chain in the first). The other side is asked for none. */
int tls_site_create(const char *chain, const char *key, struct tls_context **ret, struct err *err);
struct tls_context *tls_context_ref(struct tls_context *c); /* one more owner, who calls tls_context_free() too */
void tls_context_free(struct tls_context *c);

/* Takes the socket over. A server asks for the other's certificate, and does without; one that is there must be right (authority,
 * validity), else the handshake fails. A client insists on a certificate with the role `expect` (CERT_NOBODY: any of the authority's). */
int tls_start(struct tls_context *c, int fd, const char *alpn, enum cert_role expect, struct tls **ret,
	      struct err *err);
/* 1: done; 0: poll for tls_events() and call again; -errno and a sentence that a user understands ("the certificate of the other
 * side has expired", "it is not signed by this cluster's authority", "it is a node's, not the server's"). */
int tls_handshake(struct tls *t, struct err *err);
ssize_t tls_read(struct tls *t, void *buf, size_t n);	     /* 0: the end; -EAGAIN; -errno */
ssize_t tls_write(struct tls *t, const void *buf, size_t n); /* -EAGAIN: the same bytes again later; -errno */
/* Returns true if the connection ended in order, but without a goodbye: the other program has ended. */
bool tls_ended(const struct tls *t);
const char *
tls_why(const struct tls *t); /* the sentence for an -errno of these: a server may refuse us after our handshake */
bool tls_pending(const struct tls *t); /* read has more without polling */
short tls_events(const struct tls *t); /* POLLIN and POLLOUT, by what the last call lacked */
int tls_fd(const struct tls *t);
const char *tls_alpn(const struct tls *t);
void tls_peer(const struct tls *t, struct cert_names *ret); /* CERT_NOBODY: it showed no certificate */
int64_t tls_peer_until(const struct tls *t);		    /* when its certificate expires; 0: it showed none */
const char *tls_peer_ca(const struct tls *t); /* PEM of the authority that was matched by fingerprint, or NULL */
/* Says goodbye and shuts our direction (SHUT_WR): the other side reads all that was written and then the end; we can still read. */
void tls_shutdown(struct tls *t);
void tls_free(struct tls *t); /* says goodbye if it can, closes the socket */

void tls_abandon(struct tls *t); /* another process goes on with it: nothing is said, only our descriptor is closed */

#endif
