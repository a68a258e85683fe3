/*
 * tls.c - TLS 1.3 over a non-blocking socket that the caller polls.
 *
 * The peer is checked in one place, peer_check(), which OpenSSL calls during the handshake with the
 * received chain, so that a wrong peer gets an alert and no byte of ours. Its finding becomes the
 * message of tls_handshake(). Thousands of connections are open at once and mostly idle, so buffers
 * are released and no resumption state is kept.
 *
 * Single-threaded: contexts are counted without locks.
 */
#include "tls/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/mem.h"
#include "tls/failure.h"
#include "tls/pki_internal.h"

#define FINGERPRINT_LEAST 32 /* digits: 128 bits */
#define CHAIN_MAX 32768	     /* bytes of certificates that the peer may send */

struct tls_context {
	int refs;
	bool server;
	SSL_CTX *ssl;
	const struct revoked *revoked;
	char fingerprint[FINGERPRINT_SIZE]; /* first digits of the authority's fingerprint, or "" */
};

struct tls {
	struct tls_context *context;
	SSL *ssl;
	int fd;
	short events;
	bool open, broken; /* the handshake is done; nothing more can be sent */
	bool ended;	   /* closed by the peer's system, without close_notify */
	enum cert_role expect;
	const char *alpn;      /* the only protocol, or NULL: a server accepts all of ours */
	char protocol[16];     /* protocol that was agreed on */
	struct strbuf peer_ca; /* PEM, if matched by fingerprint */
	int why_code;	       /* finding of peer_check(), and its message */
	struct err why;
};

/* ---- checking the peer ---- */

static int refuse(struct tls *t, X509_STORE_CTX *store, int verdict, int code, const char *text)
{
	X509_STORE_CTX_set_error(store, verdict);
	t->why_code = err_set(&t->why, code, "%s", text);
	return 0;
}

/* Finds the certificate with the expected fingerprint in the chain, except the first one, which
 * is the peer's own. */
static X509 *authority_find(const struct tls *t, STACK_OF(X509) * chain, char seen[FINGERPRINT_SIZE])
{
	const char *wanted = t->context->fingerprint;

	seen[0] = '\0';
	for (int i = 1; i < sk_X509_num(chain); i++) {
		cert_fingerprint(sk_X509_value(chain, i), seen);
		if (strncmp(seen, wanted, strlen(wanted)) == 0)
			return sk_X509_value(chain, i);
	}
	return NULL;
}

/* Trusts that authority for this connection: its signature on the first certificate, and
 * everything else, is checked as usual. */
static int authority_trust(struct tls *t, X509_STORE_CTX *store, STACK_OF(X509) * trusted)
{
	char seen[FINGERPRINT_SIZE], text[300];
	X509 *authority = authority_find(t, X509_STORE_CTX_get0_untrusted(store), seen);

	if (!authority) {
		snprintf(
			text, sizeof text,
			"this is another cluster's server: its authority has the fingerprint %.16s..., not %.16s... as in the token",
			seen[0] ? seen : "(it sent none)", t->context->fingerprint);
		return refuse(t, store, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, -EKEYREJECTED, text);
	}
	if (X509_check_ca(authority) != 1)
		return refuse(t, store, X509_V_ERR_INVALID_CA, -EKEYREJECTED,
			      "the certificate with this fingerprint is not an authority's");
	if (!sk_X509_push(trusted, authority))
		abort();
	strbuf_clear(&t->peer_ca);
	cert_write(authority, &t->peer_ca);
	X509_STORE_CTX_set0_trusted_stack(store, trusted);
	return 1;
}

static int role_check(struct tls *t, X509_STORE_CTX *store)
{
	struct cert_names names;
	char text[400];

	cert_names_get(X509_STORE_CTX_get0_cert(store), &names);
	if (revoked_has(t->context->revoked, &names)) {
		snprintf(text, sizeof text,
			 "the certificate of the other side was revoked: node %s was removed from the cluster",
			 names.name);
		return refuse(t, store, X509_V_ERR_CERT_REVOKED, -EKEYREVOKED, text);
	}
	if (t->expect == CERT_NOBODY || names.role == t->expect)
		return 1;
	snprintf(text, sizeof text, "the certificate of the other side is %s, not %s",
		 names.role == CERT_NODE     ? "a node's"
		 : names.role == CERT_SERVER ? "the server's"
					     : "nobody's of this cluster",
		 t->expect == CERT_SERVER ? "the server's" : "a node's");
	return refuse(t, store, X509_V_ERR_APPLICATION_VERIFICATION, -EKEYREJECTED, text);
}

/* Called by OpenSSL with the peer's chain; returns 1 to accept it. */
static int peer_check(X509_STORE_CTX *store, void *context)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct tls *t = SSL_get_app_data(ssl);
	STACK_OF(X509) *trusted = t->context->fingerprint[0] ? sk_X509_new_null() : NULL;
	int ok = trusted ? authority_trust(t, store, trusted) : 1;

	if (ok && (ok = X509_verify_cert(store)) != 1) {
		t->why_code = failure_of_chain(store, &t->why);
		ok = 0;
	}
	if (ok)
		ok = role_check(t, store);
	if (trusted)
		X509_STORE_CTX_set0_trusted_stack(store, NULL);
	sk_X509_free(trusted);
	return ok;
}

/* ---- contexts ---- */

static const char *const known[] = {TLS_HTTP, TLS_FRAMES, TLS_SPOOL};

/* Returns the constant of that name; NULL: no protocol was named. */
static const char *alpn_known(const char *alpn)
{
	for (size_t k = 1; alpn && k < sizeof known / sizeof *known; k++)
		if (strcmp(alpn, known[k]) == 0)
			return known[k];
	return alpn ? TLS_HTTP : NULL;
}

/* Selects the first protocol that the client offers and the server accepts: the one that the
 * connection was made for, or any of ours if it was made for none. */
static int alpn_select(SSL *ssl, const unsigned char **out, unsigned char *outlen, const unsigned char *in,
		       unsigned inlen, void *context)
{
	const struct tls *t = SSL_get_app_data(ssl);

	for (unsigned i = 0; i < inlen && i + 1 + in[i] <= inlen; i += 1 + in[i]) {
		for (size_t k = 0; k < sizeof known / sizeof *known; k++)
			if (in[i] == strlen(known[k]) && memcmp(in + i + 1, known[k], in[i]) == 0 &&
			    (!t->alpn || strcmp(t->alpn, known[k]) == 0)) {
				*out = in + i + 1;
				*outlen = in[i];
				return SSL_TLSEXT_ERR_OK;
			}
	}
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int identity_use(SSL_CTX *ssl, const struct tls_options *o, struct err *err)
{
	X509 *cert = NULL;
	EVP_PKEY *key = NULL;
	int rc = cert_read(o->cert, "our certificate", &cert, err);

	if (rc == 0)
		rc = key_read(o->key, "the key of our certificate", &key, err);
	if (rc == 0 && (X509_check_private_key(cert, key) != 1 || SSL_CTX_use_certificate(ssl, cert) != 1 ||
			SSL_CTX_use_PrivateKey(ssl, key) != 1))
		rc = err_set(err, -EINVAL, "our certificate and its key don't belong together");
	X509_free(cert);
	EVP_PKEY_free(key);
	return rc;
}

/* Trusts the authority; a server also sends it, for clients that know only its fingerprint. */
static int authority_use(SSL_CTX *ssl, const struct tls_options *o, bool server, struct err *err)
{
	X509 *ca;
	int rc = cert_read(o->ca, "the authority's certificate", &ca, err);

	if (rc < 0)
		return rc;
	if (X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), ca) != 1 ||
	    (server && SSL_CTX_add1_chain_cert(ssl, ca) != 1))
		rc = err_set(err, -EINVAL, "the authority's certificate can't be used");
	X509_free(ca);
	return rc;
}

static int fingerprint_use(struct tls_context *c, const char *digits, struct err *err)
{
	size_t n = strlen(digits);

	if (n < FINGERPRINT_LEAST || n >= sizeof c->fingerprint || strspn(digits, "0123456789abcdefABCDEF") < n)
		return err_set(err, -EINVAL, "a fingerprint has %d to %d hexadecimal digits", FINGERPRINT_LEAST,
			       FINGERPRINT_SIZE - 1);
	for (size_t i = 0; i <= n; i++)
		c->fingerprint[i] = digits[i] >= 'A' && digits[i] <= 'F' ? (char)(digits[i] + 'a' - 'A') : digits[i];
	return 0;
}

static void context_tune(struct tls_context *c)
{
	SSL_CTX_set_min_proto_version(c->ssl, TLS1_3_VERSION);
	SSL_CTX_set_max_proto_version(c->ssl, TLS1_3_VERSION);
	SSL_CTX_set_options(c->ssl, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_num_tickets(c->ssl, 0);
	SSL_CTX_set_session_cache_mode(c->ssl, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(c->ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
					 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_NO_AUTO_CHAIN);
	SSL_CTX_set_max_cert_list(c->ssl, CHAIN_MAX);
	SSL_CTX_set_verify(c->ssl, SSL_VERIFY_PEER, NULL);
	/* the authority signs directly, without intermediates */
	SSL_CTX_set_verify_depth(c->ssl, 0);
	SSL_CTX_set_cert_verify_callback(c->ssl, peer_check, NULL);
	if (c->server)
		SSL_CTX_set_alpn_select_cb(c->ssl, alpn_select, NULL);
}

int tls_context_create(const struct tls_options *o, bool server, struct tls_context **ret, struct err *err)
{
	struct tls_context *c = mem_zalloc(sizeof *c);
	int rc = 0;

	c->refs = 1;
	c->server = server;
	c->revoked = o->revoked;
	ERR_clear_error();
	c->ssl = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
	if (!c->ssl)
		rc = err_set(err, -EIO, "TLS can't be used on this host: %s", failure_reason());
	else if (!o->ca == !o->fingerprint || (server && (!o->ca || !o->cert)) || !o->cert != !o->key)
		rc = err_set(err, -EINVAL,
			     "TLS needs the authority's certificate or its fingerprint, and a server both %s",
			     "certificate and key of its own");
	if (rc == 0 && o->cert) /* first, since the chain belongs to the current certificate */
		rc = identity_use(c->ssl, o, err);
	if (rc == 0)
		rc = o->ca ? authority_use(c->ssl, o, server, err) : fingerprint_use(c, o->fingerprint, err);
	if (rc < 0) {
		tls_context_free(c);
		ERR_clear_error();
		return rc;
	}
	context_tune(c);
	*ret = c;
	return 0;
}

/* Refuses a key that needs a password: there is nobody to type it. */
static int no_password(char *buf, int size, int writing, void *context)
{
	return 0;
}

/* Refuses files on which a read could block, such as a FIFO: the server reads these files in its
 * loop. */
static int regular_check(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return S_ISREG(st.st_mode) ? 0 : err_set(err, -EINVAL, "%s: it is not a regular file", path);
}

int tls_site_create(const char *chain, const char *key, struct tls_context **ret, struct err *err)
{
	struct tls_context *c;
	int rc = regular_check(chain, err);

	if (rc == 0)
		rc = regular_check(key, err);
	if (rc < 0)
		return rc;
	c = mem_zalloc(sizeof *c);
	*c = (struct tls_context){.refs = 1, .server = true, .ssl = SSL_CTX_new(TLS_server_method())};
	ERR_clear_error();
	if (!c->ssl)
		rc = err_set(err, -EIO, "TLS can't be used on this host: %s", failure_reason());
	if (rc == 0)
		SSL_CTX_set_default_passwd_cb(c->ssl, no_password);
	if (rc == 0 && SSL_CTX_use_certificate_chain_file(c->ssl, chain) != 1)
		rc = err_set(err, -EINVAL, "%s: no certificate can be read from it (%s)", chain, failure_reason());
	if (rc == 0 && SSL_CTX_use_PrivateKey_file(c->ssl, key, SSL_FILETYPE_PEM) != 1)
		rc = err_set(err, -EINVAL, "%s: no key of that certificate can be read from it (%s)", key,
			     failure_reason());
	if (rc < 0) {
		tls_context_free(c);
		ERR_clear_error();
		return rc;
	}
	context_tune(c);
	SSL_CTX_set_verify(c->ssl, SSL_VERIFY_NONE, NULL);
	*ret = c;
	return 0;
}

struct tls_context *tls_context_ref(struct tls_context *c)
{
	c->refs++;
	return c;
}

void tls_context_free(struct tls_context *c)
{
	if (!c || --c->refs > 0)
		return;
	SSL_CTX_free(c->ssl);
	free(c);
}

/* ---- a connection ---- */

static bool alpn_ask(struct tls *t)
{
	unsigned char list[32];
	size_t n = strlen(t->alpn);

	list[0] = (unsigned char)n;
	memcpy(list + 1, t->alpn, n);
	return SSL_set_alpn_protos(t->ssl, list, (unsigned)n + 1) == 0;
}

int tls_start(struct tls_context *c, int fd, const char *alpn, enum cert_role expect, struct tls **ret, struct err *err)
{
	struct tls *t = mem_zalloc(sizeof *t);

	t->context = c;
	c->refs++;
	t->fd = -1;
	t->expect = expect;
	t->alpn = alpn_known(alpn);
	t->events = c->server ? POLLIN : POLLOUT;
	t->ssl = SSL_new(c->ssl);
	if (!t->ssl || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0 || SSL_set_fd(t->ssl, fd) != 1 ||
	    (!c->server && t->alpn && !alpn_ask(t))) {
		tls_free(t);
		return err_set(err, -EIO, "can't begin TLS: %s", failure_reason());
	}
	SSL_set_app_data(t->ssl, t);
	if (c->server)
		SSL_set_accept_state(t->ssl);
	else
		SSL_set_connect_state(t->ssl);
	t->fd = fd;
	*ret = t;
	return 0;
}

/* Translates the result of an OpenSSL call that did not succeed: -EAGAIN and what to poll for, 0
 * at EOF, or -errno. */
static int outcome(struct tls *t, int rc, struct err *err)
{
	int saved = errno;

	switch (SSL_get_error(t->ssl, rc)) {
	case SSL_ERROR_WANT_READ:
		t->events = POLLIN;
		return -EAGAIN;
	case SSL_ERROR_WANT_WRITE:
		t->events = POLLOUT;
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_SYSCALL:
		t->broken = true;
		if (saved != 0)
			return err_set(err, -saved, "the connection broke: %s", strerror(saved));
		t->ended = true;
		return err_set(err, -ECONNRESET, "the other side closed the connection");
	default:
		t->broken = true;
		saved = failure_of_queue(err);
		t->ended = saved == -ECONNRESET;
		return saved;
	}
}

static void call_begin(void)
{
	ERR_clear_error(); /* errors left by another connection would be taken for ours */
	errno = 0;
}

static int handshake_end(struct tls *t, struct err *err)
{
	const unsigned char *agreed;
	unsigned n;

	SSL_get0_alpn_selected(t->ssl, &agreed, &n);
	snprintf(t->protocol, sizeof t->protocol, "%.*s", (int)n, n ? (const char *)agreed : "");
	if (n == 0)
		strcpy(t->protocol, TLS_HTTP);
	if (t->alpn && strcmp(t->alpn, t->protocol) != 0 && !t->context->server) {
		t->broken = true;
		return err_set(err, -EPROTO, "the other side does not speak the protocol of Shunt's agents (%s)",
			       t->alpn);
	}
	t->open = true;
	t->events = POLLIN;
	return 1;
}

int tls_handshake(struct tls *t, struct err *err)
{
	if (t->open)
		return 1;
	if (t->broken)
		return err_set(err, -ECONNRESET, "the handshake has failed before");
	call_begin();
	int rc = SSL_do_handshake(t->ssl);
	if (rc == 1)
		return handshake_end(t, err);
	rc = outcome(t, rc, err);
	if (rc == -EAGAIN)
		return 0;
	t->broken = true;
	if (t->why_code < 0)
		return err_set(err, t->why_code, "%s", t->why.text);
	return rc < 0 ? rc : err_set(err, -ECONNRESET, "the other side closed the connection during the handshake");
}

ssize_t tls_read(struct tls *t, void *buf, size_t n)
{
	size_t got;

	if (!t->open || t->broken)
		return -ENOTCONN;
	call_begin();
	if (SSL_read_ex(t->ssl, buf, n, &got) == 1) {
		t->events = POLLIN;
		return (ssize_t)got;
	}
	return outcome(t, 0, &t->why);
}

bool tls_ended(const struct tls *t)
{
	return t->ended;
}

const char *tls_why(const struct tls *t)
{
	return t->why.text;
}

ssize_t tls_write(struct tls *t, const void *buf, size_t n)
{
	size_t put;

	if (!t->open || t->broken)
		return -ENOTCONN;
	if (n == 0)
		return 0;
	call_begin();
	if (SSL_write_ex(t->ssl, buf, n, &put) == 1) {
		t->events = POLLIN;
		return (ssize_t)put;
	}
	int rc = outcome(t, 0, &t->why);
	return rc == 0 ? err_set(&t->why, -EPIPE, "the other side closed the connection") : rc;
}

short tls_events(const struct tls *t)
{
	return t->events;
}

int tls_fd(const struct tls *t)
{
	return t->fd;
}

const char *tls_alpn(const struct tls *t)
{
	return t->protocol;
}

void tls_peer(const struct tls *t, struct cert_names *ret)
{
	X509 *cert = t->open ? SSL_get0_peer_certificate(t->ssl) : NULL;

	memset(ret, 0, sizeof *ret);
	if (cert)
		cert_names_get(cert, ret);
}

int64_t tls_peer_until(const struct tls *t)
{
	X509 *cert = t->open ? SSL_get0_peer_certificate(t->ssl) : NULL;
	int64_t until = cert ? cert_time(X509_get0_notAfter(cert)) : 0;

	return until > 0 ? until : 0;
}

const char *tls_peer_ca(const struct tls *t)
{
	return t->open && t->peer_ca.n > 0 ? t->peer_ca.text : NULL;
}

void tls_shutdown(struct tls *t)
{
	if (t->open && !t->broken) {
		call_begin();
		SSL_shutdown(t->ssl);
	}
	shutdown(t->fd, SHUT_WR);
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	if (t->open && !t->broken) {
		call_begin();
		SSL_shutdown(t->ssl);
	}
	SSL_free(t->ssl);
	if (t->fd >= 0)
		close(t->fd);
	tls_context_free(t->context);
	strbuf_fini(&t->peer_ca);
	ERR_clear_error();
	free(t);
}

void tls_abandon(struct tls *t)
{
	t->broken = true; /* so that no close_notify is sent */
	tls_free(t);
}
