/*
 * ask.c - one HTTP request over TLS with poll().
 */
#include "agent/ask.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tcp.h"
#include "base/ticks.h"
#include "tls/tls.h"

#define CONNECT_MS 10000
#define ANSWER_MS 30000
#define ANSWER_MOST (1 << 20)

int ask_where(const char *where, int port, char *ret, size_t size, struct err *err)
{
	const char *colon = strrchr(where, ':'), *bracket = strrchr(where, ']');
	bool has_port = colon && (bracket ? colon > bracket : strchr(where, ':') == colon);
	bool bare_v6 = colon && !bracket && !has_port;
	int n;

	if (!*where || (has_port && (colon == where || atoi(colon + 1) <= 0 || atoi(colon + 1) > 65535)) ||
	    (where[0] == '[') != (bracket != NULL))
		return err_set(err, -EINVAL, "%s is not the address of a server: write HOST or HOST:PORT", where);
	if (has_port)
		n = snprintf(ret, size, "%s", where);
	else
		n = snprintf(ret, size, bare_v6 ? "[%s]:%d" : "%s:%d", where, port);
	return (size_t)n < size ? 0 : err_set(err, -EINVAL, "the server's name is too long");
}

static int wait_for(int fd, short events, int64_t until)
{
	int64_t left = until - clock_ms(CLOCK_MONOTONIC);

	return left > 0 && poll(&(struct pollfd){.fd = fd, .events = events}, 1, (int)left) > 0 ? 0 : -ETIMEDOUT;
}

/* ---- the connection ---- */

static int host_connect(const char *where, struct err *err)
{
	char host[256], port[8];
	int rc = where_parse(where, host, sizeof host, port, sizeof port, err);

	return rc < 0 ? rc : tcp_reach(host, port, CONNECT_MS, err);
}

static int shake(struct tls *t, struct err *err)
{
	int64_t until = clock_ms(CLOCK_MONOTONIC) + CONNECT_MS;
	int rc;

	while ((rc = tls_handshake(t, err)) == 0)
		if (wait_for(tls_fd(t), tls_events(t), until) < 0)
			return err_set(err, -ETIMEDOUT, "it does not answer");
	return rc < 0 ? rc : 0;
}

/* ---- the request and its answer ---- */

static int text_send(struct tls *t, const struct strbuf *b, int64_t until)
{
	for (size_t done = 0; done < b->n;) {
		ssize_t n = tls_write(t, b->text + done, b->n - done);
		if (n == -EAGAIN && wait_for(tls_fd(t), tls_events(t), until) == 0)
			continue;
		if (n < 0)
			return n == -EAGAIN ? -ETIMEDOUT : (int)n;
		done += (size_t)n;
	}
	return 0;
}

/* Finds the start of the body, once the head is complete, and its length in bytes (-1: until the
 * end). */
static const char *body_find(const struct strbuf *b, long *ret_length)
{
	const char *end = b->n ? strstr(b->text, "\r\n\r\n") : NULL;
	const char *length = end ? strcasestr(b->text, "\r\nContent-Length:") : NULL;

	*ret_length = length && length < end ? atol(length + strlen("\r\nContent-Length:")) : -1;
	return end ? end + 4 : NULL;
}

static int text_receive(struct tls *t, struct strbuf *b, int64_t until)
{
	char part[4096];

	for (;;) {
		long length;
		const char *body = body_find(b, &length);
		if (body && length >= 0 && b->n - (size_t)(body - b->text) >= (size_t)length)
			return 0;
		ssize_t n = tls_read(t, part, sizeof part);
		if (n == -EAGAIN && wait_for(tls_fd(t), tls_events(t), until) == 0)
			continue;
		if (n == 0)
			return body && length < 0 ? 0 : -ECONNRESET;
		if (n < 0)
			return n == -EAGAIN ? -ETIMEDOUT : (int)n;
		strbuf_add(b, part, (size_t)n);
		if (b->n > ANSWER_MOST)
			return -EMSGSIZE;
	}
}

static int answer_read(const struct strbuf *b, struct ask_answer *ret, struct err *err)
{
	long length;
	const char *body = body_find(b, &length);
	int status = strncmp(b->text, "HTTP/1.", 7) == 0 ? atoi(b->text + 9) : 0;
	json_t *o = json_loads(body, 0, NULL);
	const char *message = json_string_value(json_object_get(json_object_get(o, "error"), "message"));

	if ((status == 200 || status == 201) && json_is_object(o)) {
		ret->body = o;
		return 0;
	}
	int rc = status == 403 ? -EPERM : message ? -EACCES : -EPROTO;

	if (message)
		err_set(err, rc, "%s", message);
	else
		err_set(err, rc, "its answer is not one of a Shunt server (HTTP %d)", status);
	json_decref(o);
	return rc;
}

static int exchange(struct tls *t, const char *where, const char *path, const json_t *body, struct ask_answer *ret,
		    struct err *err)
{
	int64_t until = clock_ms(CLOCK_MONOTONIC) + ANSWER_MS;
	struct strbuf b = {0};
	char *text = json_dumps(body, JSON_COMPACT);
	int rc;

	strbuf_printf(&b,
		      "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
		      "Connection: close\r\n\r\n%s",
		      path, where, strlen(text), text);
	free(text);
	rc = text_send(t, &b, until);
	strbuf_clear(&b);
	if (rc == 0)
		rc = text_receive(t, &b, until);
	rc = rc < 0 ? err_set(err, rc, "it hung up: %s", strerror(-rc)) : answer_read(&b, ret, err);
	strbuf_fini(&b);
	return rc;
}

int ask_post(const char *where, const char *fingerprint, const char *path, const json_t *body, struct ask_answer *ret,
	     struct err *err)
{
	struct tls_options o = {.fingerprint = fingerprint};
	struct tls_context *c;
	struct tls *t = NULL;
	int fd, rc = tls_context_create(&o, false, &c, err);

	*ret = (struct ask_answer){0};
	if (rc < 0)
		return rc;
	fd = host_connect(where, err);
	if (fd < 0) {
		tls_context_free(c);
		return fd;
	}
	rc = tls_start(c, fd, TLS_HTTP, CERT_SERVER, &t, err);
	if (rc == 0 && (rc = shake(t, err)) == 0) {
		tls_peer(t, &ret->server);
		strbuf_puts(&ret->ca, tls_peer_ca(t) ? tls_peer_ca(t) : "");
		rc = exchange(t, where, path, body, ret, err);
	}
	if (rc < 0) {
		strbuf_fini(&ret->ca);
		err_prefix(err, rc, "%s", where);
	}
	if (t)
		tls_free(t);
	tls_context_free(c);
	return rc;
}
