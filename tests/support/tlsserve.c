/*
 * tlsserve.c - a small HTTP server over TLS in a child process.
 */
#include "support/tlsserve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tls/tls.h"

#define PATIENCE 20000 /* ms; no wait is longer */

static int address_listen(char where[64])
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	snprintf(where, 64, "127.0.0.1:%d", ntohs(a.sin_port));
	return fd;
}

void address_unused(char ret[64])
{
	close(address_listen(ret));
}

/* ---- in the child ---- */

static bool wait_for(const struct tls *t)
{
	struct pollfd p = {.fd = tls_fd(t), .events = tls_events(t)};

	return poll(&p, 1, PATIENCE) > 0;
}

static bool all_write(struct tls *t, const char *text, size_t n)
{
	while (n > 0) {
		ssize_t done = tls_write(t, text, n);
		if (done < 0 && (done != -EAGAIN || !wait_for(t)))
			return false;
		text += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return true;
}

static bool more_read(struct tls *t, struct strbuf *in)
{
	char buf[16384];
	ssize_t n;

	while ((n = tls_read(t, buf, sizeof buf)) == -EAGAIN)
		if (!wait_for(t))
			return false;
	if (n <= 0)
		return false;
	strbuf_add(in, buf, (size_t)n);
	return true;
}

static bool answer(struct tls *t, int status, const char *type, const char *body, size_t n, bool close)
{
	char head[256];
	int size = snprintf(head, sizeof head, "HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n",
			    status, type, n, close ? "Connection: close\r\n" : "");

	return all_write(t, head, (size_t)size) && all_write(t, body, n) && !close;
}

static bool answer_big(struct tls *t, size_t n)
{
	char *body = malloc(n);

	memset(body, 'b', n);
	bool goes_on = answer(t, 200, "text/plain", body, n, false);
	free(body);
	return goes_on;
}

/* Serves a request; returns false if the connection is to be closed. */
static bool request_serve(struct tls *t, const char *head, size_t body, struct shared *s, const char *fingerprint)
{
	char method[16], path[128], text[600];
	const char *proof = strstr(head, "Authorization: ");

	sscanf(head, "%15s %127s", method, path);
	s->requests++;
	if (strcmp(path, "/drop") == 0) {
		s->drops++;
		return false;
	}
	if (s->standby) {
		snprintf(text, sizeof text,
			 "{\"error\":{\"code\":\"not_leader\",\"message\":\"I wait.\",\"leader\":\"%s\"}}", s->leader);
		return answer(t, 503, "application/json", text, strlen(text), false);
	}
	if (strncmp(path, "/big?", 5) == 0)
		return answer_big(t, strtoul(path + 5, NULL, 10));
	if (strcmp(path, "/who") == 0)
		snprintf(text, sizeof text, "{\"authorization\":\"%.*s\",\"method\":\"%s\",\"bytes\":%zu}",
			 proof ? (int)strcspn(proof + 15, "\r") : 0, proof ? proof + 15 : "", method, body);
	else if (strcmp(path, "/v1/cluster") == 0)
		snprintf(text, sizeof text, "{\"fingerprint\":\"%s\"}", fingerprint);
	else
		return answer(t, 200, "text/plain", "hello", 5, strcmp(path, "/close") == 0);
	return answer(t, 200, "application/json", text, strlen(text), false);
}

static void connection_serve(struct tls *t, struct shared *s, const char *fingerprint)
{
	struct strbuf in = {0};
	bool goes_on = true;

	while (goes_on) {
		const char *end;
		while (!(end = in.n ? strstr(in.text, "\r\n\r\n") : NULL))
			if (!more_read(t, &in))
				goto out;
		size_t head = (size_t)(end - in.text) + 4;
		const char *length = strcasestr(in.text, "Content-Length: ");
		size_t body = length && length < in.text + head ? strtoul(length + 16, NULL, 10) : 0;
		while (in.n < head + body)
			if (!more_read(t, &in))
				goto out;
		in.text[head - 1] = '\0';
		goes_on = request_serve(t, in.text, body, s, fingerprint);
		struct strbuf rest = {0};
		strbuf_add(&rest, in.text + head + body, in.n - head - body);
		strbuf_fini(&in);
		in = rest;
	}
out:
	strbuf_fini(&in);
}

static void serve(int listener, struct tls_context *c, struct shared *s, const char *fingerprint)
{
	struct tls *t;
	struct err err;
	int fd, rc;

	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		s->connections++;
		if (tls_start(c, fd, NULL, CERT_NOBODY, &t, &err) < 0)
			_exit(3);
		while ((rc = tls_handshake(t, &err)) == 0 && wait_for(t))
			;
		if (rc == 1)
			connection_serve(t, s, fingerprint);
		tls_free(t);
	}
}

/* ---- in the test ---- */

void tlsserve_start(const struct authority *a, const struct identity *id, struct tlsserve *ret)
{
	struct tls_options o = {.cert = id->cert.text, .key = id->key.text, .ca = a->cert.text};
	struct tls_context *c;
	struct err err;
	int fd = address_listen(ret->where);

	assert_int_equal(listen(fd, 20), 0);
	ret->shared = mmap(NULL, sizeof *ret->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(ret->shared != MAP_FAILED);
	ret->pid = fork();
	assert_true(ret->pid >= 0);
	if (ret->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_IGN);
		if (tls_context_create(&o, true, &c, &err) < 0)
			_exit(2);
		serve(fd, c, ret->shared, a->fingerprint);
		_exit(1);
	}
	close(fd);
}

void tlsserve_stop(struct tlsserve *s)
{
	if (s->pid) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
	}
	munmap(s->shared, sizeof *s->shared);
	*s = (struct tlsserve){0};
}
