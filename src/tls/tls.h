/*
 * tls.h - TLS 1.3 over a non-blocking socket that the caller polls.
 *
 * Programs that use it must ignore SIGPIPE. Single-threaded. Errors with a specific meaning:
 * -EKEYEXPIRED (a certificate is not valid at this time), -EKEYREVOKED (a node was removed, ours or
 * the peer), -EKEYREJECTED (wrong authority or role, or the peer rejected our certificate, which a
 * TLS 1.3 client learns from its first read), -EPROTO (the peer does not speak TLS 1.3, or is not a
 * Shunt program), -ECONNRESET (closed without close_notify).
 */
#ifndef TLS_TLS_H
#define TLS_TLS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "tls/pki.h"
#include "tls/revoked.h"

struct tls_context; /* an identity and the authority it trusts; connections hold a reference */
struct tls;	    /* one connection */

#define TLS_FRAMES "shunt/1" /* ALPN of frames (net/link.h) */
#define TLS_HTTP "http/1.1"  /* ALPN of the API, and the default for clients that send no ALPN */
/* ALPN of frames between an agent and a user without a certificate (agent/callers.c) */
#define TLS_SPOOL "shunt-spool/1"

/* `cert` and `key` may be NULL for a client without an identity. Trust is either the authority's
 * certificate `ca` or, if that is not known yet, the first digits of its fingerprint: then the
 * server must send the authority's certificate in its chain (ours does), it must have that
 * fingerprint, and it must have signed the server's certificate. */
struct tls_options {
	const char *cert, *key, *ca, *fingerprint;
	const struct revoked *revoked; /* nodes to refuse; borrowed, and may change. NULL: none */
};
int tls_context_create(const struct tls_options *o, bool server, struct tls_context **ret, struct err *err);
/* Creates a context for browsers: a certificate signed by a public authority and its key, from
 * PEM files (the chain in the first). Clients are not asked for a certificate. */
int tls_site_create(const char *chain, const char *key, struct tls_context **ret, struct err *err);
/* Adds an owner, who must call tls_context_free(). */
struct tls_context *tls_context_ref(struct tls_context *c);
void tls_context_free(struct tls_context *c);

/* Takes the socket over. A server requests the client's certificate but does not require one; a
 * certificate that is sent must be right (authority, validity), or the handshake fails. A client
 * requires a certificate with the role `expect` (CERT_NOBODY: any role of this authority). */
int tls_start(struct tls_context *c, int fd, const char *alpn, enum cert_role expect, struct tls **ret,
	      struct err *err);
/* Returns 1 when done; 0: poll for tls_events() and call again; -errno with a message for users
 * ("the certificate of the other side has expired", "it is not signed by this cluster's
 * authority", "it is a node's, not the server's"). */
int tls_handshake(struct tls *t, struct err *err);
ssize_t tls_read(struct tls *t, void *buf, size_t n); /* 0: end of input; -EAGAIN; -errno */
/* Returns the bytes written; -EAGAIN: call again later with the same bytes; -errno. */
ssize_t tls_write(struct tls *t, const void *buf, size_t n);
/* Returns true if the connection ended in order but without close_notify: the other program has
 * exited. */
bool tls_ended(const struct tls *t);
/* Returns the message for an -errno of the calls above: a server may refuse us after our
 * handshake. */
const char *tls_why(const struct tls *t);
short tls_events(const struct tls *t); /* POLLIN and POLLOUT, by what the last call waited for */
int tls_fd(const struct tls *t);
const char *tls_alpn(const struct tls *t);
/* Returns the peer's names; CERT_NOBODY: it sent no certificate. */
void tls_peer(const struct tls *t, struct cert_names *ret);
/* Returns when the peer's certificate expires; 0: it sent none. */
int64_t tls_peer_until(const struct tls *t);
/* Returns the PEM of the authority matched by fingerprint, or NULL. */
const char *tls_peer_ca(const struct tls *t);
/* Sends close_notify and shuts down our direction (SHUT_WR): the peer reads all that was written
 * and then EOF; we can still read. */
void tls_shutdown(struct tls *t);
void tls_free(struct tls *t); /* sends close_notify if possible and closes the socket */

/* Closes only our descriptor and sends nothing: another process continues the connection. */
void tls_abandon(struct tls *t);

#endif
