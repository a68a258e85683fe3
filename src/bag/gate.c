/*
 * gate.c - `shunt-bag-gate SOCKET`: TLS for a broker, which does not load OpenSSL itself.
 *
 * Descriptor 0 is a stream socket to the broker. The gate makes a temporary key and certificate,
 * listens on a free TCP port of all addresses, prints "PORT FINGERPRINT\n" (of its authority, for
 * `shunt-connect --fingerprint`), and carries the bytes of each connection to the UNIX socket
 * SOCKET and back. It decides nothing: the broker determines who may join. It ends with the broker.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/tcp.h"
#include "base/ticks.h"
#include "base/unixsock.h"
#include "base/vec.h"
#include "tls/lanes.h"
#include "tls/tls.h"

enum {
	BROKER = 0,	    /* descriptor of the broker */
	SHAKING_MOST = 128, /* concurrent handshakes */
	SHAKE_MS = 10000,   /* time limit of a handshake */
	LEAVE_MS = 2000,    /* time to send the rest after the broker is gone */
	ROUNDS = 16,	    /* rounds of one connection before the next one's turn */
	LIFE = 10 * 365 * 86400,
};

struct connection {
	struct tls *tls;
	int fd; /* to the broker; -1: the handshake is not done */
	int64_t since;
	bool over, more; /* more: it can continue without waiting */
	struct lane in, out;
};

struct gate {
	const char *socket;
	struct tls_context *context;
	int listener;
	VEC(struct connection *) all;
	size_t shaking;
};

static int identity(struct gate *g, char fingerprint[FINGERPRINT_SIZE], struct err *err)
{
	struct strbuf ca_key = {0}, ca = {0}, key = {0}, request = {0}, cert = {0};
	struct cert_names who = {.role = CERT_SERVER, .name = "bag"};
	int rc = pki_authority("bag", &ca_key, &ca, err);

	rc = rc < 0 ? rc : pki_key(&key, err);
	rc = rc < 0 ? rc : pki_request(key.text, &request, err);
	rc = rc < 0 ? rc : pki_issue(ca_key.text, ca.text, request.text, request.n, &who, NULL, LIFE, &cert, err);
	rc = rc < 0 ? rc : pki_fingerprint(ca.text, fingerprint, err);
	if (rc == 0)
		rc = tls_context_create(&(struct tls_options){.cert = cert.text, .key = key.text, .ca = ca.text}, true,
					&g->context, err);
	strbuf_fini(&ca_key);
	strbuf_fini(&ca);
	strbuf_fini(&key);
	strbuf_fini(&request);
	strbuf_fini(&cert);
	return rc;
}

static void connection_accept(struct gate *g)
{
	struct err err;
	int on = 1, fd = accept4(g->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	struct connection *c = mem_zalloc(sizeof *c);
	c->fd = -1;
	c->since = clock_ms(CLOCK_MONOTONIC);
	if (tls_start(g->context, fd, TLS_HTTP, CERT_NOBODY, &c->tls, &err) < 0) {
		close(fd);
		free(c);
		return;
	}
	vec_push(&g->all, c);
	g->shaking++;
}

static void connection_shake(struct gate *g, struct connection *c)
{
	struct err err;
	int rc = tls_handshake(c->tls, &err);

	if (rc == 0)
		return;
	g->shaking--;
	if (rc > 0)
		c->fd = unix_connect(g->socket, 5000, &err);
	c->over = rc < 0 || c->fd < 0;
	c->more = !c->over;
}

static void connection_close(struct gate *g, size_t at)
{
	struct connection *c = g->all.v[at];

	if (c->fd >= 0)
		close(c->fd);
	tls_free(c->tls);
	free(c);
	g->all.v[at] = g->all.v[g->all.n - 1];
	g->all.n--;
}

static void connections_serve(struct gate *g, bool leaving)
{
	for (size_t i = g->all.n; i-- > 0;) {
		struct connection *c = g->all.v[i];
		if (c->fd < 0) {
			connection_shake(g, c);
			if (c->fd < 0 && !c->over && (leaving || clock_ms(CLOCK_MONOTONIC) - c->since > SHAKE_MS)) {
				g->shaking--;
				c->over = true;
			}
		}
		for (int k = 0; c->fd >= 0 && !c->over && (k == 0 || (c->more && k < ROUNDS)); k++)
			c->over = !lanes_move(c->tls, c->fd, &c->out, &c->in, &c->more);
		if (c->over)
			connection_close(g, i);
	}
}

/* Fills in what to wait for. Returns true if some connection can continue at once. */
static bool wishes(struct gate *g, struct pollfd *p)
{
	bool more = false;

	for (size_t i = 0; i < g->all.n; i++, p += 2) {
		const struct connection *c = g->all.v[i];
		short lacks = c->in.lacks | c->out.lacks, wants = 0;
		if (c->fd >= 0) {
			wants = (short)((c->out.at == c->out.n && !c->out.ended ? POLLIN : 0) |
					(c->in.at < c->in.n ? POLLOUT : 0));
			more = more || c->more;
		} else {
			lacks = tls_events(c->tls);
		}
		p[0] = (struct pollfd){.fd = lacks ? tls_fd(c->tls) : -1, .events = lacks};
		p[1] = (struct pollfd){.fd = wants ? c->fd : -1, .events = wants};
	}
	return more;
}

static void serve(struct gate *g)
{
	int64_t deadline = 0; /* set when the broker is gone */

	while (!deadline || (g->all.n > 0 && clock_ms(CLOCK_MONOTONIC) < deadline)) {
		VEC(struct pollfd) p = {0};
		for (size_t i = 0; i < 2 + 2 * g->all.n; i++)
			vec_push(&p, (struct pollfd){.fd = -1});
		p.v[0] = (struct pollfd){.fd = deadline ? -1 : BROKER, .events = POLLIN};
		p.v[1] = (struct pollfd){.fd = deadline || g->shaking >= SHAKING_MOST ? -1 : g->listener,
					 .events = POLLIN};
		bool more = wishes(g, p.v + 2);
		int n = poll(p.v, p.n, more ? 0 : deadline ? 50 : 1000);
		if (n > 0 && p.v[0].revents)
			deadline = clock_ms(CLOCK_MONOTONIC) + LEAVE_MS;
		if (n > 0 && p.v[1].revents)
			connection_accept(g);
		vec_free(&p);
		connections_serve(g, deadline != 0);
	}
}

int main(int argc, char **argv)
{
	const int ignored[] = {SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTSTP};
	struct gate g = {.socket = argv[1]};
	char fingerprint[FINGERPRINT_SIZE];
	struct err err;
	int port = 0;

	if (argc != 2) {
		fputs("usage: shunt-bag-gate SOCKET\nA broker starts it for workers on other hosts.\n", stderr);
		return 2;
	}
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	descriptors_raise();
	int rc = identity(&g, fingerprint, &err);
	if (rc == 0)
		rc = g.listener = tcp_listen(0, &port, &err);
	if (rc < 0) {
		dprintf(BROKER, "error %s\n", err.text);
		return 1;
	}
	dprintf(BROKER, "%d %s\n", port, fingerprint);
	serve(&g);
	while (g.all.n > 0)
		connection_close(&g, g.all.n - 1);
	vec_free(&g.all);
	close(g.listener);
	tls_context_free(g.context);
	return 0;
}
