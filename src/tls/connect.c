/*
 * connect.c - `shunt-connect`: TLS for a command that must start fast and does not load OpenSSL
 * itself.
 *
 *	shunt-connect [--agent] (--ca FILE | --fingerprint HEX) WHERE...
 *
 * Descriptor 0 is a stream socket. Tries the addresses in turn, checks that the peer is this
 * cluster's server (--agent: one of its nodes, for its spool), and writes "ok WHERE\n", or "error
 * SENTENCE\n" and exits with 1 ("absent SENTENCE\n": none of them accepts connections now; "silent
 * SENTENCE\n": moreover, some of the machines do not answer). Then it copies bytes both ways until
 * either side ends. It ends with its client and ignores the terminal's signals, since the client
 * may still send something after them.
 *
 *	shunt-connect --seal
 *
 * Reads a line with a token's secret, then the text to seal with it (client/tray.h) up to EOF;
 * writes the seal.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ticks.h"
#include "tls/lanes.h"
#include "tls/tls.h"

#define CLIENT 0      /* the client's descriptor */
#define PORT "7722"   /* default port */
#define PATIENCE 5000 /* ms per address, and for sending the rest after the client has gone */
#define CA_MAX (1 << 20)
#define SEAL_MOST (32u << 20)

/* ---- to the server ---- */

/* Waits for the server. -ETIMEDOUT; -EPIPE: the client has gone meanwhile. */
static int server_wait(int fd, short events, int64_t deadline, struct err *err)
{
	struct pollfd p[] = {{.fd = fd, .events = events}, {.fd = CLIENT}};
	int64_t left = deadline - clock_ms(CLOCK_MONOTONIC);
	int rc = left <= 0 ? 0 : poll(p, 2, (int)left);

	if (rc < 0 && errno != EINTR)
		return err_set(err, -errno, "%s", strerror(errno));
	if (rc > 0 && p[1].revents)
		return err_set(err, -EPIPE, "the client has gone");
	return rc == 0 ? err_set(err, -ETIMEDOUT, "no answer for %d s", PATIENCE / 1000) : 0;
}

/* Returns a socket connected to the address, or -errno. */
static int address_connect(const struct addrinfo *a, int64_t deadline, struct err *err)
{
	int on = 1, error = 0, rc = 0;
	socklen_t n = sizeof error;
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
		error = errno;
		if (error == EINPROGRESS && (rc = server_wait(fd, POLLOUT, deadline, err)) == 0)
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n);
		if (rc == 0 && error != 0)
			rc = err_set(err, -error, "%s", strerror(error));
	}
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

static bool agents; /* connects to agents, not servers */

static int address_try(struct tls_context *c, const struct addrinfo *a, struct tls **ret, struct err *err)
{
	int64_t deadline = clock_ms(CLOCK_MONOTONIC) + PATIENCE;
	struct tls *t;
	int fd = address_connect(a, deadline, err);
	int rc = fd < 0 ? fd
			: tls_start(c, fd, agents ? TLS_SPOOL : TLS_HTTP, agents ? CERT_NODE : CERT_SERVER, &t, err);

	if (rc < 0) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while ((rc = tls_handshake(t, err)) == 0 && (rc = server_wait(fd, tls_events(t), deadline, err)) == 0)
		;
	if (rc < 0) {
		tls_free(t);
		return rc;
	}
	*ret = t;
	return 0;
}

/* Splits "host", "host:port", "[address]:port", or a bare IPv6 address, in place. */
static void where_split(char *where, const char **ret_host, const char **ret_port)
{
	char *colon = strrchr(where, ':'), *bracket = strrchr(where, ']');

	*ret_host = where;
	*ret_port = PORT;
	if (where[0] == '[' && bracket) {
		*bracket = '\0';
		*ret_host = where + 1;
		if (bracket[1] == ':' && bracket[2])
			*ret_port = bracket + 2;
	} else if (colon && strchr(where, ':') == colon) {
		*colon = '\0';
		*ret_port = colon + 1;
	}
}

static int where_try(struct tls_context *c, const char *where, struct tls **ret, struct err *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *all;
	const char *host, *port;
	char text[300];

	snprintf(text, sizeof text, "%s", where);
	where_split(text, &host, &port);
	int rc = getaddrinfo(host, port, &hints, &all);
	if (rc != 0)
		return err_set(err, -ENOENT, "%s", rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
	rc = -ENOENT;
	for (const struct addrinfo *a = all; a && rc != 0 && rc != -EPIPE; a = a->ai_next)
		rc = address_try(c, a, ret, err);
	freeaddrinfo(all);
	return rc;
}

/* ---- copying ---- */

static void carry(struct tls *t)
{
	static struct lane up, down;
	int64_t deadline = 0; /* set once the client has gone */

	while (lanes_move(t, CLIENT, &up, &down, NULL)) {
		bool idle = up.at == up.n && !up.ended, full = down.at < down.n;
		/* A direction that made progress continues at once: wait only if each of them
		 * needs something. */
		if ((!idle && !up.lacks) || (!full && !down.lacks))
			continue;
		struct pollfd p[] = {
			{.fd = deadline ? -1 : CLIENT, .events = (short)((idle ? POLLIN : 0) | (full ? POLLOUT : 0))},
			{.fd = up.lacks || down.lacks ? tls_fd(t) : -1, .events = up.lacks | down.lacks}};
		int64_t left = deadline ? deadline - clock_ms(CLOCK_MONOTONIC) : -1;
		if (deadline && left <= 0)
			return;
		if (poll(p, 2, (int)left) < 0 && errno != EINTR)
			return;
		if (!deadline && (p[0].revents & (POLLHUP | POLLERR)))
			deadline = clock_ms(CLOCK_MONOTONIC) + PATIENCE;
	}
}

/* ---- seals ---- */

static int seal(void)
{
	struct strbuf text = {0};
	char part[16384], hash[FINGERPRINT_SIZE], mac[64];
	ssize_t n = 1;

	while (n != 0 && text.n < SEAL_MOST) {
		n = recv(CLIENT, part, sizeof part, 0);
		if (n < 0 && errno != EINTR)
			return 1;
		strbuf_add(&text, part, n > 0 ? (size_t)n : 0);
	}
	char *newline = strchr(strbuf_text(&text), '\n');
	if (!newline || n != 0 || strlen(text.text) != text.n)
		return 1;
	*newline = '\0';
	secret_hash(text.text, hash);
	secret_mac(hash, newline + 1, mac);
	return send(CLIENT, mac, strlen(mac), MSG_NOSIGNAL) < 0;
}

/* ---- from the command line ---- */

static char *ca_file_read(const char *path)
{
	static char text[CA_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got = fd < 0 ? -1 : 1;

	while (got > 0 && n + 1 < sizeof text && (got = read(fd, text + n, sizeof text - 1 - n)) > 0)
		n += (size_t)got;
	if (fd >= 0)
		close(fd);
	return got < 0 ? NULL : text;
}

static void say(const char *word, const char *text)
{
	struct strbuf line = {0};

	strbuf_printf(&line, "%s %s\n", word, text);
	for (size_t at = 0; at < line.n;) {
		ssize_t n = send(CLIENT, line.text + at, line.n - at, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			break;
		at += n > 0 ? (size_t)n : 0;
	}
	strbuf_fini(&line);
}

static int fail(const char *word, const char *text)
{
	say(word, text);
	return 1;
}

/* Connects to the first address that is a server of ours. Reports what was wrong with all of
 * them if none is. */
static int servers_try(struct tls_context *c, char **where, struct tls **ret, const char **ret_where,
		       struct strbuf *trouble, const char **ret_word)
{
	bool absent = true, silent = true;
	struct err err;
	int rc = -ENOENT;

	for (; *where && rc != 0 && rc != -EPIPE; where++) {
		rc = where_try(c, *where, ret, &err);
		*ret_where = *where;
		absent = absent && (rc == -ECONNREFUSED || rc == -ECONNRESET);
		silent = silent && (absent || rc == -ECONNREFUSED || rc == -ECONNRESET || rc == -ETIMEDOUT ||
				    rc == -EHOSTUNREACH || rc == -ENETUNREACH);
		if (rc < 0)
			strbuf_printf(trouble, "%s%s: %s", trouble->n ? "; " : "", *where, err.text);
	}
	*ret_word = absent ? "absent" : silent ? "silent" : "error";
	return rc;
}

static int serve(const struct tls_options *o, char **where)
{
	struct tls_context *c;
	struct tls *t = NULL;
	struct strbuf trouble = {0};
	const char *which = NULL, *word;
	struct err err;
	int rc = 1;

	if (tls_context_create(o, false, &c, &err) < 0)
		return fail("error", err.text);
	if (servers_try(c, where, &t, &which, &trouble, &word) == 0) {
		say("ok", which);
		carry(t);
		tls_free(t);
		rc = 0;
	} else
		fail(word, strbuf_text(&trouble));
	tls_context_free(c);
	strbuf_fini(&trouble);
	return rc;
}

int main(int argc, char **argv)
{
	const int ignored[] = {SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTSTP};
	struct tls_options o = {0};

	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	/* a name server that does not answer must not cost a minute */
	setenv("RES_OPTIONS", "timeout:2 attempts:2", 0);
	if (argc == 2 && strcmp(argv[1], "--seal") == 0)
		return seal();
	if (argc >= 5 && strcmp(argv[1], "--agent") == 0) {
		agents = true;
		argv++;
		argc--;
	}
	if (argc >= 4 && strcmp(argv[1], "--ca") == 0 && !(o.ca = ca_file_read(argv[2])))
		return fail("error", "the file with the authority's certificate can't be read");
	if (argc >= 4 && strcmp(argv[1], "--fingerprint") == 0)
		o.fingerprint = argv[2];
	if (!o.ca && !o.fingerprint) {
		fputs("usage: shunt-connect [--agent] (--ca FILE | --fingerprint HEX) WHERE...\n"
		      "       shunt-connect --seal\n"
		      "Commands start it to reach a server over TLS; descriptor 0 is their socket.\n",
		      stderr);
		return 2;
	}
	return serve(&o, argv + 3);
}
