/*
 * test_tls.c - both ends of TLS in one process, over real sockets, turn by turn: who is let in, who
 * is not, and what is said about it.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "base/file.h"
#include "support/certs.h"
#include "tls/tls.h"

#define DAY 86400
#define TURNS 1000

static struct authority home, other;
static struct identity server_id, node_id;
static struct tls_context *server_context;

static int setup(void **state)
{
	struct tls_options o;
	struct err err;

	signal(SIGPIPE, SIG_IGN);
	authority_make("home", &home);
	authority_make("home", &other); /* the same name */
	identity_make(&home, CERT_SERVER, "head", 0, DAY, &server_id);
	identity_make(&home, CERT_NODE, "n1", 5, DAY, &node_id);
	o = (struct tls_options){.cert = server_id.cert.text, .key = server_id.key.text, .ca = home.cert.text};
	return tls_context_create(&o, true, &server_context, &err);
}

static int teardown(void **state)
{
	tls_context_free(server_context);
	identity_fini(&server_id);
	identity_fini(&node_id);
	authority_fini(&home);
	authority_fini(&other);
	return 0;
}

/* ---- two ends ---- */

struct ends {
	struct tls *server, *client;
	int server_rc, client_rc; /* result of the handshakes */
	struct err server_err, client_err;
};

static struct tls_context *context(const struct tls_options *o, bool server)
{
	struct tls_context *c;
	struct err err;

	if (tls_context_create(o, server, &c, &err) < 0)
		fail_msg("%s", err.text);
	return c;
}

static void step(struct tls *t, int *rc, struct err *err)
{
	if (t && *rc == 0)
		*rc = tls_handshake(t, err);
}

static void shake(struct ends *e)
{
	for (int i = 0; i < TURNS && (e->server_rc == 0 || e->client_rc == 0); i++) {
		step(e->client, &e->client_rc, &e->client_err);
		step(e->server, &e->server_rc, &e->server_err);
		/* The side that gave up closes, as a program would. */
		if (e->client_rc < 0 && e->server_rc == 0)
			shutdown(tls_fd(e->client), SHUT_WR);
		if (e->server_rc < 0 && e->client_rc == 0)
			shutdown(tls_fd(e->server), SHUT_WR);
	}
}

static void ends_open(struct tls_context *server, struct tls_context *client, const char *alpn, enum cert_role expect,
		      struct ends *e)
{
	int fd[2];

	memset(e, 0, sizeof *e);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	assert_int_equal(tls_start(server, fd[0], NULL, CERT_NOBODY, &e->server, &e->server_err), 0);
	assert_int_equal(tls_start(client, fd[1], alpn, expect, &e->client, &e->client_err), 0);
	shake(e);
}

static void ends_close(struct ends *e)
{
	tls_free(e->client);
	tls_free(e->server);
}

/* A client with these options against a server with those: closed when judged. */
static void judge(const struct tls_options *server, const struct tls_options *client, struct ends *e)
{
	struct tls_context *s = server ? context(server, true) : NULL, *c = context(client, false);

	ends_open(s ? s : server_context, c, TLS_FRAMES, CERT_SERVER, e);
	tls_context_free(s);
	tls_context_free(c);
}

static void refused(const struct tls_options *server, const struct tls_options *client, int code, const char *words)
{
	struct ends e;
	char byte;

	judge(server, client, &e);
	assert_int_equal(e.client_rc, code);
	if (!strstr(e.client_err.text, words))
		fail_msg("\"%s\" does not say \"%s\"", e.client_err.text, words);
	assert_true(tls_read(e.client, &byte, 1) < 0);
	assert_true(tls_write(e.client, "x", 1) < 0);
	assert_null(tls_peer_ca(e.client));
	assert_true(e.server_rc < 0); /* it got an alert, not just a closed connection */
	ends_close(&e);
}

/* The server finds the client's certificate wrong. With TLS 1.3 the client hears of it when it
 * reads. */
static void client_refused(const struct tls_options *client, int code, const char *words, int heard)
{
	struct ends e;
	char byte;

	judge(NULL, client, &e);
	assert_int_equal(e.server_rc, code);
	if (!strstr(e.server_err.text, words))
		fail_msg("\"%s\" does not say \"%s\"", e.server_err.text, words);
	assert_int_equal(e.client_rc, 1);
	assert_int_equal(tls_read(e.client, &byte, 1), heard);
	ends_close(&e);
}

/* ---- who is let in ---- */

static void right_on_both_ends(void **state)
{
	struct tls_options o = {.cert = node_id.cert.text, .key = node_id.key.text, .ca = home.cert.text};
	struct cert_names names;
	struct ends e;
	char buf[16];

	judge(NULL, &o, &e);
	assert_int_equal(e.client_rc, 1);
	assert_int_equal(e.server_rc, 1);
	tls_peer(e.server, &names);
	assert_int_equal(names.role, CERT_NODE);
	assert_string_equal(names.name, "n1");
	assert_int_equal(names.join, 5);
	tls_peer(e.client, &names);
	assert_int_equal(names.role, CERT_SERVER);
	assert_string_equal(names.name, "head");
	assert_string_equal(tls_alpn(e.server), TLS_FRAMES);
	assert_string_equal(tls_alpn(e.client), TLS_FRAMES);
	assert_null(tls_peer_ca(e.client));

	assert_int_equal(tls_read(e.server, buf, sizeof buf), -EAGAIN);
	assert_int_equal(tls_events(e.server), POLLIN);
	assert_int_equal(tls_write(e.client, "hello", 5), 5);
	assert_int_equal(tls_read(e.server, buf, 2), 2);
	assert_int_equal(tls_read(e.server, buf + 2, sizeof buf - 2), 3);
	assert_memory_equal(buf, "hello", 5);
	assert_int_equal(tls_read(e.server, buf, sizeof buf), -EAGAIN);
	/* Goodbye is the end; what breaks off is not. */
	tls_free(e.client);
	assert_int_equal(tls_read(e.server, buf, sizeof buf), 0);
	tls_free(e.server);
}

/* A FIFO has nobody at its other end: reading it would not end. */
static void files_that_are_none(void **state)
{
	char dir[] = "/tmp/shunt-tls-XXXXXX", fifo[64];
	struct tls_context *c = NULL;
	struct err err;

	assert_non_null(mkdtemp(dir));
	snprintf(fifo, sizeof fifo, "%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	alarm(30);
	assert_int_equal(tls_site_create(fifo, "/dev/null", &c, &err), -EINVAL);
	assert_non_null(strstr(err.text, "it is not a regular file"));
	assert_int_equal(tls_site_create("/etc/passwd", "/dev/zero", &c, &err), -EINVAL);
	assert_int_equal(tls_site_create("/etc/passwd", dir, &c, &err), -EINVAL);
	assert_int_equal(tls_site_create("/nosuchfile", fifo, &c, &err), -ENOENT);
	alarm(0);
	assert_int_equal(unlink(fifo), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void site_refused(const char *chain, const char *key, const char *wanted)
{
	struct tls_context *c = NULL;
	struct err err;

	assert_int_equal(tls_site_create(chain, key, &c, &err), -EINVAL);
	assert_null(c);
	if (strncmp(err.text, wanted, strlen(wanted)) != 0)
		fail_msg("\"%s\" does not begin with \"%s\"", err.text, wanted);
}

static void key_encrypt(const char *path, const char *key)
{
	BIO *from = BIO_new_mem_buf(key, -1), *to = BIO_new_file(path, "w");
	EVP_PKEY *pkey = PEM_read_bio_PrivateKey(from, NULL, NULL, NULL);

	assert_int_equal(PEM_write_bio_PrivateKey(to, pkey, EVP_aes_128_cbc(), NULL, 0, NULL, "word"), 1);
	EVP_PKEY_free(pkey);
	BIO_free(from);
	BIO_free(to);
}

/* A site's own certificate, from files: clients need none, whatever they have is not looked at. */
static void site_certificate(void **state)
{
	struct tls_options o = {.ca = home.cert.text}, wrong = {.ca = other.cert.text},
			   node = {.cert = node_id.cert.text, .key = node_id.key.text, .ca = home.cert.text};
	const struct tls_options *clients[] = {&o, &node};
	char dir[] = "/tmp/shunt-tls-XXXXXX", chain[64], key[64], another[64], locked[64], text[200], byte;
	struct tls_context *site, *c;
	struct cert_names names;
	struct ends e;
	struct err err;

	assert_non_null(mkdtemp(dir));
	snprintf(chain, sizeof chain, "%s/chain", dir);
	snprintf(key, sizeof key, "%s/key", dir);
	snprintf(another, sizeof another, "%s/another", dir);
	snprintf(locked, sizeof locked, "%s/locked", dir);
	assert_int_equal(file_replace(chain, 0600, server_id.cert.text, server_id.cert.n, 0), 0);
	assert_int_equal(file_replace(key, 0600, server_id.key.text, server_id.key.n, 0), 0);
	assert_int_equal(file_replace(another, 0600, node_id.key.text, node_id.key.n, 0), 0);
	key_encrypt(locked, server_id.key.text);
	snprintf(text, sizeof text, "%s: no certificate can be read from it (", key);
	site_refused(key, key, text);
	snprintf(text, sizeof text, "%s: no key of that certificate can be read from it (", another);
	site_refused(chain, another, text);
	snprintf(text, sizeof text, "%s: no key of that certificate can be read from it (", locked);
	site_refused(chain, locked, text); /* nobody is asked for its password */

	assert_int_equal(tls_site_create(chain, key, &site, &err), 0);
	for (int i = 0; i < 2; i++) {
		c = context(clients[i], false);
		ends_open(site, c, NULL, CERT_SERVER, &e);
		assert_int_equal(e.client_rc, 1);
		assert_int_equal(e.server_rc, 1);
		tls_peer(e.server, &names);
		assert_int_equal(names.role, CERT_NOBODY);
		tls_peer(e.client, &names);
		assert_int_equal(names.role, CERT_SERVER);
		assert_string_equal(names.name, "head");
		assert_int_equal(tls_write(e.client, "x", 1), 1);
		assert_int_equal(tls_read(e.server, &byte, 1), 1);
		assert_int_equal(byte, 'x');
		ends_close(&e);
		tls_context_free(c);
	}
	c = context(&wrong, false);
	ends_open(site, c, NULL, CERT_SERVER, &e);
	assert_true(e.client_rc < 0);
	assert_false(tls_ended(e.client));
	ends_close(&e);
	tls_context_free(c);
	tls_context_free(site);
	for (char **f = (char *[]){chain, key, another, locked, NULL}; *f; f++)
		assert_int_equal(unlink(*f), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* A side that has shut its output properly has not ended the connection; one that is gone has. */
static void ended(void **state)
{
	struct tls_options o = {.ca = home.cert.text};
	struct ends e;
	char byte;

	judge(NULL, &o, &e);
	assert_false(tls_ended(e.server));
	assert_int_equal(tls_read(e.server, &byte, 1), -EAGAIN);
	assert_false(tls_ended(e.server));
	shutdown(tls_fd(e.client), SHUT_RDWR);
	assert_int_equal(tls_read(e.server, &byte, 1), -ECONNRESET);
	assert_true(tls_ended(e.server));
	ends_close(&e);
	judge(NULL, &o, &e);
	tls_shutdown(e.client);
	assert_int_equal(tls_read(e.server, &byte, 1), 0);
	assert_false(tls_ended(e.server));
	ends_close(&e);
}

static void no_certificate(void **state)
{
	struct tls_options o = {.ca = home.cert.text};
	struct cert_names names;
	struct ends e;

	judge(NULL, &o, &e);
	assert_int_equal(e.client_rc, 1);
	assert_int_equal(e.server_rc, 1);
	tls_peer(e.server, &names);
	assert_int_equal(names.role, CERT_NOBODY);
	assert_string_equal(names.name, "");
	ends_close(&e);
}

static void broken_off(void **state)
{
	struct tls_options o = {.ca = home.cert.text};
	struct ends e;
	char byte;

	judge(NULL, &o, &e);
	shutdown(tls_fd(e.client), SHUT_RDWR);
	assert_int_equal(tls_read(e.server, &byte, 1), -ECONNRESET);
	assert_int_equal(tls_read(e.server, &byte, 1), -ENOTCONN);
	assert_true(tls_write(e.client, "x", 1) < 0);
	ends_close(&e);
}

static void by_fingerprint(void **state)
{
	char digits[FINGERPRINT_SIZE];
	struct tls_options o = {.fingerprint = digits};
	struct ends e;

	for (size_t n = 32; n <= 64; n += 16) {
		snprintf(digits, sizeof digits, "%.*s", (int)n, home.fingerprint);
		for (char *p = digits; n == 48 && *p; p++) /* in capitals, the way people type them */
			*p = *p >= 'a' ? (char)(*p - 'a' + 'A') : *p;
		judge(NULL, &o, &e);
		assert_int_equal(e.client_rc, 1);
		assert_string_equal(tls_peer_ca(e.client), home.cert.text);
		ends_close(&e);
	}
	strcpy(digits, other.fingerprint);
	refused(NULL, &o, -EKEYREJECTED, "another cluster's server");
	strcpy(digits, home.fingerprint);
	digits[63] = digits[63] == '0' ? '1' : '0';
	refused(NULL, &o, -EKEYREJECTED, "another cluster's server");
}

static void fingerprints_that_are_none(void **state)
{
	const char *bad[] = {"", "0123", "0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdeg"};
	char too_long[80];
	struct tls_context *c = NULL;
	struct err err;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct tls_options o = {.fingerprint = bad[i]};
		assert_int_equal(tls_context_create(&o, false, &c, &err), -EINVAL);
	}
	snprintf(too_long, sizeof too_long, "%s0", home.fingerprint);
	struct tls_options o = {.fingerprint = too_long};
	assert_int_equal(tls_context_create(&o, false, &c, &err), -EINVAL);
	o = (struct tls_options){0};
	assert_int_equal(tls_context_create(&o, false, &c, &err), -EINVAL);
	o = (struct tls_options){.ca = home.cert.text, .cert = node_id.cert.text};
	assert_int_equal(tls_context_create(&o, false, &c, &err), -EINVAL);
	o = (struct tls_options){.ca = home.cert.text, .cert = node_id.cert.text, .key = server_id.key.text};
	assert_int_equal(tls_context_create(&o, false, &c, &err), -EINVAL);
	o = (struct tls_options){.ca = home.cert.text};
	assert_int_equal(tls_context_create(&o, true, &c, &err), -EINVAL);
	o.ca = "nonsense";
	assert_int_equal(tls_context_create(&o, false, &c, &err), -EINVAL);
	assert_null(c);
}

/* A peer shows a server's certificate that the wrong authority signed, and the right authority
 * beside it, which everybody can have. */
static void fingerprint_of_a_bystander(void **state)
{
	struct tls_options trust = {.fingerprint = home.fingerprint};
	struct identity liar;
	struct strbuf chain = {0};
	struct tls_options o = {0};

	identity_make(&other, CERT_SERVER, "head", 0, DAY, &liar);
	o = (struct tls_options){.cert = liar.cert.text, .key = liar.key.text, .ca = home.cert.text};
	refused(&o, &trust, -EKEYREJECTED, "not signed by this cluster's authority");
	identity_fini(&liar);

	/* A leaf with the fingerprint is not an authority: its own certificate in the place of
	 * one. */
	char print[FINGERPRINT_SIZE];
	struct err err;
	identity_make(&home, CERT_SERVER, "head", 0, DAY, &liar);
	assert_int_equal(pki_fingerprint(liar.cert.text, print, &err), 0);
	trust.fingerprint = print;
	o = (struct tls_options){.cert = liar.cert.text, .key = liar.key.text, .ca = liar.cert.text};
	refused(&o, &trust, -EKEYREJECTED, "not an authority's");
	o.ca = home.cert.text;
	refused(&o, &trust, -EKEYREJECTED, "another cluster's server");
	identity_fini(&liar);
	strbuf_fini(&chain);
}

static void wrong_authority(void **state)
{
	struct tls_options trust = {.ca = other.cert.text};
	struct identity stranger;

	/* Both authorities have the same name. */
	refused(NULL, &trust, -EKEYREJECTED, "not signed by this cluster's authority");
	identity_make(&other, CERT_NODE, "n1", 5, DAY, &stranger);
	struct tls_options o = {.cert = stranger.cert.text, .key = stranger.key.text, .ca = home.cert.text};
	client_refused(&o, -EKEYREJECTED, "not signed by this cluster's authority", -EKEYREJECTED);
	identity_fini(&stranger);
}

/* Signed by a node's key instead of the authority's: a certificate of this cluster is not an
 * authority. */
static void signed_by_a_node(void **state)
{
	struct authority node = {.key = node_id.key, .cert = node_id.cert};
	struct identity child;
	struct tls_options trust = {.ca = home.cert.text};

	identity_make(&node, CERT_SERVER, "head", 0, DAY, &child);
	struct tls_options o = {.cert = child.cert.text, .key = child.key.text, .ca = node_id.cert.text};
	refused(&o, &trust, -EKEYREJECTED, "certificate of the other side");
	trust = (struct tls_options){.fingerprint = home.fingerprint};
	refused(&o, &trust, -EKEYREJECTED, "another cluster's server");
	identity_fini(&child);
}

static void expired(void **state)
{
	struct tls_options trust = {.ca = home.cert.text};
	struct identity old;

	identity_make(&home, CERT_SERVER, "head", 0, -60, &old);
	struct tls_options o = {.cert = old.cert.text, .key = old.key.text, .ca = home.cert.text};
	refused(&o, &trust, -EKEYEXPIRED, "the certificate of the other side has expired");
	trust = (struct tls_options){.fingerprint = home.fingerprint};
	refused(&o, &trust, -EKEYEXPIRED, "the certificate of the other side has expired");
	identity_fini(&old);
	identity_make(&home, CERT_NODE, "n1", 5, -60, &old);
	o = (struct tls_options){.cert = old.cert.text, .key = old.key.text, .ca = home.cert.text};
	client_refused(&o, -EKEYEXPIRED, "the certificate of the other side has expired", -EKEYEXPIRED);
	identity_fini(&old);
}

/* Moves the beginning of a certificate into the future and signs it again. */
static void postpone(struct identity *id)
{
	BIO *in = BIO_new_mem_buf(id->cert.text, -1), *key_in = BIO_new_mem_buf(home.key.text, -1);
	BIO *out = BIO_new(BIO_s_mem());
	X509 *cert = PEM_read_bio_X509(in, NULL, NULL, NULL);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(key_in, NULL, NULL, NULL);
	char *text;

	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(cert), 3600));
	assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
	assert_int_equal(PEM_write_bio_X509(out, cert), 1);
	long n = BIO_get_mem_data(out, &text);
	strbuf_clear(&id->cert);
	strbuf_add(&id->cert, text, (size_t)n);
	BIO_free(in);
	BIO_free(key_in);
	BIO_free(out);
	X509_free(cert);
	EVP_PKEY_free(key);
}

static void not_yet_valid(void **state)
{
	struct tls_options trust = {.ca = home.cert.text};
	struct identity young;

	identity_make(&home, CERT_SERVER, "head", 0, DAY, &young);
	postpone(&young);
	struct tls_options o = {.cert = young.cert.text, .key = young.key.text, .ca = home.cert.text};
	refused(&o, &trust, -EKEYEXPIRED, "not valid yet");
	trust = (struct tls_options){.fingerprint = home.fingerprint};
	refused(&o, &trust, -EKEYEXPIRED, "not valid yet");
	identity_fini(&young);
}

/* A node that was removed, as a server and as a client; one of the same name that joined later
 * is another. */
static void revoked(void **state)
{
	struct revoked list = {0};
	struct tls_options node = {.cert = node_id.cert.text, .key = node_id.key.text, .ca = home.cert.text},
			   trust = {.ca = home.cert.text, .revoked = &list},
			   own = {.cert = server_id.cert.text,
				  .key = server_id.key.text,
				  .ca = home.cert.text,
				  .revoked = &list};
	struct tls_context *s = context(&own, true), *c = context(&node, false), *n = context(&node, true),
			   *asks = context(&trust, false);
	struct cert_names who;
	struct ends e;
	char byte;

	assert_int_equal(pki_names(node_id.cert.text, &who, NULL), 0);
	assert_false(revoked_has(NULL, &who));
	assert_true(revoked_add(&list, "n2", 100));
	assert_true(revoked_add(&list, who.name, who.join - 1));
	assert_false(revoked_add(&list, who.name, who.join - 1));
	ends_open(s, c, TLS_FRAMES, CERT_SERVER, &e);
	assert_int_equal(e.server_rc, 1);
	ends_close(&e);
	assert_true(revoked_add(&list, who.name, who.join));
	assert_false(revoked_add(&list, who.name, 1));
	ends_open(s, c, TLS_FRAMES, CERT_SERVER, &e);
	assert_int_equal(e.server_rc, -EKEYREVOKED);
	assert_non_null(strstr(e.server_err.text, "was revoked"));
	assert_int_equal(tls_read(e.client, &byte, 1), -EKEYREVOKED);
	assert_non_null(strstr(tls_why(e.client), "this node was removed"));
	ends_close(&e);
	ends_open(n, asks, TLS_FRAMES, CERT_NODE, &e);
	assert_int_equal(e.client_rc, -EKEYREVOKED);
	ends_close(&e);
	tls_context_free(s);
	tls_context_free(c);
	tls_context_free(n);
	tls_context_free(asks);
	revoked_fini(&list);
}

static void node_for_a_server(void **state)
{
	struct tls_options trust = {.ca = home.cert.text};
	struct tls_options o = {.cert = node_id.cert.text, .key = node_id.key.text, .ca = home.cert.text};
	struct tls_context *s = context(&o, true), *c = context(&trust, false);
	struct ends e;

	refused(&o, &trust, -EKEYREJECTED, "is a node's, not the server's");
	trust = (struct tls_options){.fingerprint = home.fingerprint};
	refused(&o, &trust, -EKEYREJECTED, "is a node's, not the server's");

	ends_open(s, c, TLS_FRAMES, CERT_NODE, &e); /* every peer that wants a node gets one */
	assert_int_equal(e.client_rc, 1);
	ends_close(&e);
	ends_open(s, c, TLS_FRAMES, CERT_NOBODY, &e);
	assert_int_equal(e.client_rc, 1);
	ends_close(&e);
	ends_open(server_context, c, TLS_FRAMES, CERT_NODE, &e);
	assert_int_equal(e.client_rc, -EKEYREJECTED);
	assert_non_null(strstr(e.client_err.text, "is the server's, not a node's"));
	ends_close(&e);
	tls_context_free(s);
	tls_context_free(c);
}

static void odd_names_pass(void **state)
{
	struct tls_options trust = {.ca = home.cert.text};
	struct identity odd;
	struct cert_names names;
	struct ends e;

	identity_make(&home, CERT_SERVER, "a:b,URI:c \xff%00", 0, DAY, &odd);
	struct tls_options o = {.cert = odd.cert.text, .key = odd.key.text, .ca = home.cert.text};
	judge(&o, &trust, &e);
	assert_int_equal(e.client_rc, 1);
	tls_peer(e.client, &names);
	assert_string_equal(names.name, "a:b,URI:c \xff%00");
	ends_close(&e);
	identity_fini(&odd);
}

/* ---- protocols ---- */

static void protocols(void **state)
{
	struct tls_options o = {.ca = home.cert.text};
	struct tls_context *c = context(&o, false);
	struct ends e;

	ends_open(server_context, c, TLS_HTTP, CERT_SERVER, &e);
	assert_string_equal(tls_alpn(e.server), TLS_HTTP);
	assert_string_equal(tls_alpn(e.client), TLS_HTTP);
	ends_close(&e);
	ends_open(server_context, c, NULL, CERT_SERVER, &e); /* asks for nothing */
	assert_int_equal(e.client_rc, 1);
	assert_string_equal(tls_alpn(e.server), TLS_HTTP);
	ends_close(&e);

	/* A server that was started for frames only. */
	int fd[2];
	memset(&e, 0, sizeof e);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	assert_int_equal(tls_start(server_context, fd[0], TLS_FRAMES, CERT_NOBODY, &e.server, &e.server_err), 0);
	assert_int_equal(tls_start(c, fd[1], TLS_HTTP, CERT_SERVER, &e.client, &e.client_err), 0);
	shake(&e);
	assert_int_equal(e.client_rc, -EPROTO);
	assert_non_null(strstr(e.client_err.text, "no protocol in common"));
	ends_close(&e);
	tls_context_free(c);
}

/* An old client, made with OpenSSL itself. */
static void only_tls_1_3(void **state)
{
	SSL_CTX *old = SSL_CTX_new(TLS_client_method());
	SSL *ssl = SSL_new(old);
	struct tls *t;
	struct err err;
	int fd[2], rc = 0;

	SSL_set_max_proto_version(ssl, TLS1_2_VERSION);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd), 0);
	assert_int_equal(tls_start(server_context, fd[0], NULL, CERT_NOBODY, &t, &err), 0);
	SSL_set_fd(ssl, fd[1]);
	for (int i = 0; i < TURNS && rc == 0; i++) {
		SSL_connect(ssl);
		rc = tls_handshake(t, &err);
	}
	assert_int_equal(rc, -EPROTO);
	assert_non_null(strstr(err.text, "does not speak TLS 1.3"));
	tls_free(t);
	SSL_free(ssl);
	SSL_CTX_free(old);
	close(fd[1]);
}

/* ---- others than TLS ---- */

/* What a server, or a client, says to these bytes, after which nothing more comes. */
static int garbage(bool server, const void *bytes, size_t n, struct err *err)
{
	struct tls_options o = {.ca = home.cert.text};
	struct tls_context *c = context(&o, false);
	struct tls *t;
	int fd[2], rc = 0;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	assert_int_equal(tls_start(server ? server_context : c, fd[0], NULL, CERT_SERVER, &t, err), 0);
	assert_int_equal(send(fd[1], bytes, n, MSG_NOSIGNAL), (ssize_t)n);
	shutdown(fd[1], SHUT_WR);
	for (int i = 0; i < TURNS && rc == 0; i++)
		rc = tls_handshake(t, err);
	assert_true(tls_handshake(t, NULL) < 0);
	tls_free(t);
	tls_context_free(c);
	close(fd[1]);
	return rc;
}

static void garbage_instead(void **state)
{
	const char *http = "GET / HTTP/1.1\r\nHost: x\r\n\r\n", *ssh = "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n";
	unsigned char noise[5000];
	struct err err;

	assert_int_equal(garbage(true, http, strlen(http), &err), -EPROTO);
	assert_non_null(strstr(err.text, "does not speak TLS"));
	assert_int_equal(garbage(true, ssh, strlen(ssh), &err), -EPROTO);
	assert_int_equal(garbage(false, ssh, strlen(ssh), &err), -EPROTO);
	assert_non_null(strstr(err.text, "does not speak TLS"));
	assert_int_equal(garbage(true, "", 0, &err), -ECONNRESET);
	assert_int_equal(garbage(false, "", 0, &err), -ECONNRESET);
	assert_non_null(strstr(err.text, "closed the connection"));
	srand(1);
	for (int i = 0; i < 200; i++) {
		size_t n = 1 + (size_t)rand() % sizeof noise;
		for (size_t k = 0; k < n; k++)
			noise[k] = (unsigned char)rand();
		if (i % 2) /* the beginning of a record */
			memcpy(noise, "\x16\x03\x01\x02\x00\x01", n < 6 ? n : 6);
		assert_true(garbage(i % 4 < 2, noise, n, &err) < 0);
	}
}

/* Connected, and then silent, before and in the middle of the handshake. The side that waits
 * decides how long. */
static void half_open(void **state)
{
	struct tls_options o = {.ca = home.cert.text};
	struct tls_context *c = context(&o, false);
	struct tls *t;
	struct err err;
	int fd[2];
	char hello[4096];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd), 0);
	assert_int_equal(tls_start(c, fd[1], TLS_HTTP, CERT_SERVER, &t, &err), 0);
	assert_int_equal(tls_handshake(t, &err), 0);
	assert_int_equal(tls_events(t), POLLIN);
	ssize_t n = recv(fd[0], hello, sizeof hello, 0);
	assert_true(n > 100);
	tls_free(t);
	close(fd[0]);

	for (ssize_t part = 0; part < n; part += n / 7) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd), 0);
		assert_int_equal(tls_start(server_context, fd[0], NULL, CERT_NOBODY, &t, &err), 0);
		assert_int_equal(send(fd[1], hello, (size_t)part, 0), part);
		for (int i = 0; i < 10; i++)
			assert_int_equal(tls_handshake(t, &err), 0);
		assert_int_equal(tls_events(t), POLLIN);
		assert_int_equal(tls_write(t, "x", 1), -ENOTCONN);
		close(fd[1]);
		assert_int_equal(tls_handshake(t, &err), -ECONNRESET);
		tls_free(t);
	}
	tls_context_free(c);
}

/* ---- what to wait for ---- */

/* Fills a direction of a connection with bytes that are not TLS. Returns their number. */
static size_t stuff(int fd)
{
	char noise[4096] = {0};
	size_t sum = 0;

	for (ssize_t n; (n = send(fd, noise, sizeof noise, MSG_DONTWAIT)) > 0;)
		sum += (size_t)n;
	assert_true(sum > 0);
	return sum;
}

/* Takes these bytes out again. */
static void unstuff(int fd, size_t sum)
{
	char noise[4096];

	for (ssize_t n; sum > 0; sum -= (size_t)n) {
		n = recv(fd, noise, sum < sizeof noise ? sum : sizeof noise, MSG_DONTWAIT);
		assert_true(n > 0);
	}
}

/* A side waits until it can write only while it has something to write. */
static void waits_for_what_it_lacks(void **state)
{
	struct tls_options o = {.ca = home.cert.text};
	struct tls_context *c = context(&o, false);
	struct tls *server, *client;
	struct err err;
	char buf[4096] = {0};
	size_t noise;
	ssize_t n, sent = 0;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	assert_int_equal(tls_start(server_context, fd[0], NULL, CERT_NOBODY, &server, &err), 0);
	assert_int_equal(tls_start(c, fd[1], TLS_FRAMES, CERT_SERVER, &client, &err), 0);
	assert_int_equal(tls_events(server), POLLIN);
	assert_int_equal(tls_events(client), POLLOUT);
	assert_int_equal(tls_handshake(client, &err), 0);
	assert_int_equal(tls_events(client), POLLIN);

	noise = stuff(fd[0]);
	assert_int_equal(tls_handshake(server, &err), 0);
	assert_int_equal(tls_events(server), POLLOUT);
	unstuff(fd[1], noise);
	assert_int_equal(tls_handshake(server, &err), 0);
	assert_int_equal(tls_events(server), POLLIN);

	noise = stuff(fd[1]);
	assert_int_equal(tls_handshake(client, &err), 0);
	assert_int_equal(tls_events(client), POLLOUT);
	unstuff(fd[0], noise);
	assert_int_equal(tls_handshake(client, &err), 1);
	assert_int_equal(tls_events(client), POLLIN);
	assert_int_equal(tls_handshake(server, &err), 1);
	assert_int_equal(tls_events(server), POLLIN);
	assert_int_equal(tls_handshake(server, &err), 1); /* it is open */

	for (int reads = 0; reads < 2; reads++) {
		while ((n = tls_write(client, buf, sizeof buf)) > 0)
			sent += n;
		assert_int_equal(n, -EAGAIN);
		assert_int_equal(tls_events(client), POLLOUT);
		if (reads) {
			assert_int_equal(tls_write(server, "x", 1), 1);
			assert_int_equal(tls_read(client, buf, sizeof buf), 1);
			assert_int_equal(tls_events(client), POLLIN);
			buf[0] = 0;
		}
		for (; sent > 0; sent -= n)
			assert_true((n = tls_read(server, buf, sizeof buf)) > 0);
		assert_int_equal(tls_read(server, buf, sizeof buf), -EAGAIN);
		assert_int_equal(tls_events(server), POLLIN);
		assert_int_equal(n = tls_write(client, buf, sizeof buf), sizeof buf);
		assert_int_equal(tls_events(client), POLLIN);
		sent += n;
	}
	tls_free(client);
	tls_free(server);
	tls_context_free(c);
}

/* ---- much, both ways ---- */

#define MUCH (16u << 20)

struct flow {
	struct tls *t;
	size_t sent, got;
	short read_lacks, write_lacks; /* events */
};

static unsigned char byte_at(size_t i)
{
	return (unsigned char)(i * 2654435761u >> 13);
}

/* Writes and reads what goes without waiting, the bytes from another place each time. */
static void flow_step(struct flow *f, unsigned char *buf, size_t size)
{
	ssize_t n;

	while (f->sent < MUCH) {
		size_t part = MUCH - f->sent < size ? MUCH - f->sent : size, shift = f->sent % 7;
		for (size_t i = 0; i < part; i++)
			buf[shift + i] = byte_at(f->sent + i);
		if ((n = tls_write(f->t, buf + shift, part)) < 0) {
			assert_int_equal(n, -EAGAIN);
			break;
		}
		f->sent += (size_t)n;
	}
	f->write_lacks = f->sent < MUCH ? tls_events(f->t) : 0;
	while (f->got < MUCH && (n = tls_read(f->t, buf, size)) != -EAGAIN) {
		assert_true(n > 0);
		for (ssize_t i = 0; i < n; i++)
			assert_int_equal(buf[i], byte_at(f->got + (size_t)i));
		f->got += (size_t)n;
	}
	f->read_lacks = f->got < MUCH ? tls_events(f->t) : 0;
}

static void much_both_ways(void **state)
{
	struct tls_options o = {.cert = node_id.cert.text, .key = node_id.key.text, .ca = home.cert.text};
	size_t size = 50000;
	unsigned char *buf = malloc(size + 7);
	struct ends e;

	assert_non_null(buf);
	judge(NULL, &o, &e);
	struct flow flows[2] = {{.t = e.server}, {.t = e.client}};
	while (flows[0].got < MUCH || flows[1].got < MUCH) {
		struct pollfd p[2];
		for (int i = 0; i < 2; i++) {
			flow_step(&flows[i], buf, size);
			p[i] = (struct pollfd){.fd = tls_fd(flows[i].t),
					       .events = (short)(flows[i].read_lacks | flows[i].write_lacks)};
		}
		if (flows[0].got < MUCH || flows[1].got < MUCH)
			assert_true(poll(p, 2, 20000) > 0);
	}
	ends_close(&e);
	free(buf);
}

/* A context may go before its connections. */
static void context_goes_first(void **state)
{
	struct tls_options o = {.fingerprint = home.fingerprint};
	struct tls_context *c = context(&o, false);
	struct ends e;
	char byte;

	ends_open(server_context, c, TLS_FRAMES, CERT_SERVER, &e);
	tls_context_free(c);
	assert_int_equal(tls_write(e.client, "x", 1), 1);
	assert_int_equal(tls_read(e.server, &byte, 1), 1);
	assert_int_equal(tls_write(e.server, "x", 0), 0);
	ends_close(&e);
	tls_free(NULL);
	tls_context_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_on_both_ends),
		cmocka_unit_test(files_that_are_none),
		cmocka_unit_test(site_certificate),
		cmocka_unit_test(ended),
		cmocka_unit_test(no_certificate),
		cmocka_unit_test(broken_off),
		cmocka_unit_test(by_fingerprint),
		cmocka_unit_test(fingerprints_that_are_none),
		cmocka_unit_test(fingerprint_of_a_bystander),
		cmocka_unit_test(wrong_authority),
		cmocka_unit_test(signed_by_a_node),
		cmocka_unit_test(expired),
		cmocka_unit_test(not_yet_valid),
		cmocka_unit_test(revoked),
		cmocka_unit_test(node_for_a_server),
		cmocka_unit_test(odd_names_pass),
		cmocka_unit_test(protocols),
		cmocka_unit_test(only_tls_1_3),
		cmocka_unit_test(garbage_instead),
		cmocka_unit_test(half_open),
		cmocka_unit_test(waits_for_what_it_lacks),
		cmocka_unit_test(much_both_ways),
		cmocka_unit_test(context_goes_first),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
