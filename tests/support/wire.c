/*
 * wire.c - both ends of connections, for tests.
 */
#include "support/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

void turn(uv_loop_t *loop)
{
	if (uv_backend_timeout(loop) != 0)
		poll(&(struct pollfd){.fd = uv_backend_fd(loop), .events = POLLIN}, 1, 1);
	uv_run(loop, UV_RUN_NOWAIT);
}

/* ---- certificates ---- */

/* Creates a context with a certificate issued by `t`, which trusts `ca`. */
static struct tls_context *context_create(const struct trust *t, const struct cert_names *who, int64_t life,
					  bool server, const struct strbuf *ca)
{
	struct strbuf key = {0}, csr = {0}, cert = {0};
	struct tls_context *c = NULL;
	struct err err = {.text = ""};

	int rc = pki_key(&key, &err);
	if (rc == 0)
		rc = pki_request(strbuf_text(&key), &csr, &err);
	if (rc == 0)
		rc = pki_issue(strbuf_text(&t->authority_key), strbuf_text(&t->authority_cert), csr.text, csr.n, who,
			       NULL, life, &cert, &err);
	const struct tls_options o = {.cert = strbuf_text(&cert), .key = strbuf_text(&key), .ca = strbuf_text(ca)};
	if (rc == 0)
		rc = tls_context_create(&o, server, &c, &err);
	if (rc < 0)
		fail_msg("%s", err.text);
	strbuf_fini(&key);
	strbuf_fini(&csr);
	strbuf_fini(&cert);
	return c;
}

struct tls_context *trust_issue(const struct trust *t, const struct cert_names *who, int64_t life, bool server)
{
	return context_create(t, who, life, server, &t->authority_cert);
}

static void authority_init(struct trust *t)
{
	struct err err;

	*t = (struct trust){0};
	assert_int_equal(pki_authority("test", &t->authority_key, &t->authority_cert, &err), 0);
}

void trust_init(struct trust *t)
{
	static const struct cert_names server = {.role = CERT_SERVER, .name = "test"},
				       node = {.role = CERT_NODE, .name = "n1", .join = 7};
	struct trust other;
	struct err err;

	authority_init(t);
	t->server = trust_issue(t, &server, 3600, true);
	t->node = trust_issue(t, &node, 3600, false);
	const struct tls_options o = {.ca = strbuf_text(&t->authority_cert)};
	assert_int_equal(tls_context_create(&o, false, &t->stranger, &err), 0);
	authority_init(&other);
	t->foreign = context_create(&other, &node, 3600, false, &t->authority_cert);
	strbuf_fini(&other.authority_key);
	strbuf_fini(&other.authority_cert);
}

void trust_fini(struct trust *t)
{
	tls_context_free(t->server);
	tls_context_free(t->node);
	tls_context_free(t->stranger);
	tls_context_free(t->foreign);
	strbuf_fini(&t->authority_key);
	strbuf_fini(&t->authority_cert);
}

/* ---- an end that is a link ---- */

static void on_ready(void *context, struct link *l)
{
	((struct end *)context)->readies++;
}

static void on_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct end *e = context;

	e->count++;
	e->bytes += n;
	if (!e->quiet) {
		struct seen s = {.head = json_dumps(head, JSON_COMPACT), .data = mem_alloc(n + 1), .n = n};
		memcpy(s.data, data, n);
		s.data[n] = '\0';
		vec_push(&e->frames, s);
	}
	if (e->on_frame)
		e->on_frame(e, head);
}

static void on_drained(void *context, struct link *l)
{
	((struct end *)context)->drains++;
}

static void on_closed(void *context, struct link *l, const char *reason)
{
	struct end *e = context;

	e->closes++;
	e->link = NULL;
	strncpy(e->reason, reason, sizeof e->reason - 1);
}

const struct link_events end_events = {on_ready, on_frame, on_drained, on_closed};

void end_fini(struct end *e)
{
	for (size_t i = 0; i < e->frames.n; i++) {
		free(e->frames.v[i].head);
		free(e->frames.v[i].data);
	}
	vec_free(&e->frames);
}

/* ---- a raw end, which writes arbitrary bytes ---- */

struct raw raw_connect_from(uv_loop_t *loop, const char *from, int port, struct tls_context *c, const char *alpn)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)},
			   here = {.sin_family = AF_INET};
	struct raw r = {.loop = loop, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	struct err err;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	here.sin_addr.s_addr = inet_addr(from);
	if (r.fd < 0 || bind(r.fd, (struct sockaddr *)&here, sizeof here) < 0 ||
	    connect(r.fd, (struct sockaddr *)&to, sizeof to) < 0)
		fail_msg("can't connect: %s", strerror(errno));
	fcntl(r.fd, F_SETFL, O_NONBLOCK);
	if (c && tls_start(c, r.fd, alpn, CERT_SERVER, &r.tls, &err) < 0)
		fail_msg("%s", err.text);
	return r;
}

struct raw raw_connect(uv_loop_t *loop, int port, struct tls_context *c, const char *alpn)
{
	return raw_connect_from(loop, "127.0.0.1", port, c, alpn);
}

bool raw_shake(struct raw *r)
{
	struct err err;
	int rc = 0;

	TURN_UNTIL(r->loop, (rc = tls_handshake(r->tls, &err)) != 0);
	return rc > 0;
}

static ssize_t write_some(struct raw *r, const void *buf, size_t n)
{
	ssize_t rc = r->tls ? tls_write(r->tls, buf, n) : send(r->fd, buf, n, MSG_NOSIGNAL | MSG_DONTWAIT);

	return rc < 0 && !r->tls ? -errno : rc;
}

bool raw_write(struct raw *r, const void *buf, size_t n)
{
	const char *at = buf;

	while (n > 0) {
		ssize_t rc = 0;
		TURN_UNTIL(r->loop, (rc = write_some(r, at, n)) != -EAGAIN);
		if (rc < 0)
			return false;
		at += rc;
		n -= (size_t)rc;
	}
	return true;
}

static ssize_t read_some(struct raw *r, void *buf, size_t n)
{
	ssize_t rc = r->tls ? tls_read(r->tls, buf, n) : recv(r->fd, buf, n, MSG_DONTWAIT);

	return rc < 0 && !r->tls ? -errno : rc;
}

ssize_t raw_read(struct raw *r, void *buf, size_t n)
{
	ssize_t rc = 0;

	TURN_UNTIL(r->loop, (rc = read_some(r, buf, n)) != -EAGAIN);
	return rc < 0 ? 0 : rc;
}

void raw_close(struct raw *r)
{
	if (r->tls)
		tls_free(r->tls);
	else if (r->fd >= 0)
		close(r->fd);
	*r = (struct raw){.fd = -1};
}
