/*
 * client.c - sends requests to the server: one connection, one request at a time, and a message for
 * every failure.
 *
 * Repeating: a request that was not sent at all, or was refused with 503, may be sent again, and so
 * may any GET and any submission, whose key lets the server recognize it. Another change that was
 * sent and got no answer may have been made, and is never repeated. One of several servers leads;
 * the others refuse every request and name the leader, which is then asked instead.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/code.h"
#include "base/jsonread.h"
#include "base/mem.h"
#include "base/ticks.h"
#include "base/unixsock.h"
#include "client/client_internal.h"
#include "client/offline.h"
#include "tls/pki.h"

#define ANSWER_MAX (512u << 20) /* bytes that client_ask accepts; larger answers need paging */
#define PATIENCE 5		/* seconds of silence before the user is notified */
#define TIMEOUT 300		/* seconds; SHUNT_TIMEOUT */
#define WAIT 30			/* seconds to wait for an absent server; SHUNT_WAIT */
#define PAUSE_FIRST 100		/* ms between the first two attempts; doubles up to PAUSE_MOST */
#define PAUSE_MOST 1000
#define KEY_SIZE 33    /* size of a key with its NUL */
#define RETURNS 10     /* times a server may return while a request is being spooled for it */
#define TAKEOVER 20000 /* ms within which one of several servers should lead again */

/* A request. */
struct question {
	const char *method, *path, *accept, *body;
	size_t n;
	const char *key;     /* key of a submission, or NULL */
	const char *upgrade; /* protocol to switch to, or NULL */
};

/* Consumer of the body, in pieces. */
struct sink {
	int (*piece)(void *context, const char *data, size_t n);
	void *context;
};

/* ---- open and close ---- */

/* Reads a variable as seconds; a value that is not a number in range counts as unset. */
static int seconds_of(const char *variable, long least, int otherwise)
{
	const char *text = getenv(variable);
	char *end;
	long seconds = text ? strtol(text, &end, 10) : 0;

	return text && end != text && seconds >= least && seconds <= 1000000 ? (int)seconds : otherwise;
}

struct client *client_create(const char *socket, struct route *route)
{
	/* not zeroed: the buffer is large and commands are short-lived */
	struct client *c = mem_alloc(sizeof *c);

	memset(c, 0, offsetof(struct client, buffer));
	c->socket = mem_strdup(socket);
	c->route = route;
	c->fd = -1;
	c->timeout = seconds_of("SHUNT_TIMEOUT", 1, TIMEOUT);
	c->wait = seconds_of("SHUNT_WAIT", 0, -1);
	c->waits_anyway = c->wait >= 0;
	if (!c->waits_anyway)
		c->wait = WAIT;
	return c;
}

void client_patience(struct client *c, int seconds)
{
	c->wait = seconds;
	c->waits_anyway = true;
}

void client_once(struct client *c)
{
	c->once = true;
}

int client_open_at(const char *socket, struct client **ret, struct err *err)
{
	*ret = client_create(socket, NULL);
	return 0;
}

static void client_drop(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->route)
		route_end(c->route);
	c->fd = -1;
	c->used = c->upgraded = false;
	c->at = c->n = 0;
}

void client_close(struct client *c)
{
	if (!c)
		return;
	client_drop(c);
	route_free(c->route);
	if (c->head.text)
		explicit_bzero(c->head.text, c->head.n); /* may contain a token */
	strbuf_fini(&c->head);
	free(c->socket);
	free(c->standby);
	free(c->name);
	free(c->offline);
	far_free(c->far);
	offline_forget(&c->seen);
	free(c);
}

const char *client_standby(const struct client *c)
{
	return c->standby;
}

const char *client_absent(const struct client *c)
{
	return c->name;
}

int client_connections(const struct client *c)
{
	return c->connections;
}

void reply_fini(struct reply *r)
{
	strbuf_fini(&r->body);
	json_decref(r->json);
	*r = (struct reply){0};
}

const char *client_code(const struct client *c)
{
	return c->code;
}

/* ---- waiting ---- */

static void tell(struct client *c)
{
	if (!c->told && isatty(STDERR_FILENO))
		fprintf(stderr,
			"Waiting for the Shunt server (%s): it has not answered for %d s; it may be waiting for its disk.\n",
			c->socket, PATIENCE);
	c->told = true;
}

/* Returns how long to wait until there is something to report or do, ms; 0: the time is up; -1: no
 * limit. */
static int wait_ms(const struct client *c)
{
	int64_t waited = clock_ms(CLOCK_MONOTONIC) - c->asked, most = (int64_t)c->timeout * 1000;

	if (c->may_sleep)
		return -1;
	if (!c->told && waited < PATIENCE * 1000 && most > PATIENCE * 1000)
		return (int)(PATIENCE * 1000 - waited);
	return waited < most ? (int)(most - waited < INT32_MAX ? most - waited : INT32_MAX) : 0;
}

static int timed_out(const struct client *c, struct err *err)
{
	return err_set(
		err, -ETIMEDOUT,
		"the Shunt server (%.300s) has not answered for %d s: look at its log (SHUNT_TIMEOUT sets how long to wait)",
		c->socket, c->timeout);
}

static int client_wait(struct client *c, short events, struct err *err)
{
	struct pollfd p = {.fd = c->fd, .events = events};

	for (;;) {
		int ms = wait_ms(c);
		int rc = poll(&p, 1, ms);
		if (rc > 0)
			return 0;
		if (rc < 0 && errno != EINTR)
			return err_set(err, -errno, "can't wait for the server: %s", strerror(errno));
		if (rc < 0 && (c->may_sleep || c->yields))
			return err_set(err, -EINTR, "interrupted");
		if (rc == 0 && ms == 0)
			return timed_out(c, err);
		if (rc == 0)
			tell(c);
	}
}

/* ---- connection ---- */

static int no_server(const struct client *c, int rc, struct err *err)
{
	switch (rc) {
	case -ENOENT:
	case -ENOTDIR:
	case -ECONNREFUSED:
		return err_set(err, rc == -ENOTDIR ? -ENOENT : rc,
			       "no Shunt server is running for this user (looked at %.300s): start one with 'shunt up'",
			       c->socket);
	case -EACCES:
	case -EPERM:
		return err_set(
			err, -EACCES,
			"you may not talk to the Shunt server at %.300s: permission denied (is it another user's? SHUNT_HOME says whose you mean)",
			c->socket);
	case -EAGAIN:
		return err_set(
			err, -EAGAIN,
			"the Shunt server (%.300s) is busy: too many wait to be connected; try again in a moment",
			c->socket);
	default:
		return rc; /* the message is set */
	}
}

/* Connects over TLS: shunt-connect finds a server, and reports which, or what is wrong, in a
 * line. */
static int route_connect(struct client *c, struct err *err)
{
	char line[600];
	size_t n = 0;
	ssize_t got = 1;

	c->fd = route_start(c->route, err);
	if (c->fd < 0)
		return c->fd;
	/* Byte by byte: what follows the line belongs to the protocol. */
	while (got != 0 && n + 1 < sizeof line && (n == 0 || line[n - 1] != '\n')) {
		int rc = client_wait(c, POLLIN, err);
		if (rc < 0) {
			client_drop(c);
			return rc;
		}
		got = recv(c->fd, line + n, 1, MSG_DONTWAIT);
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			got = 0;
		n += got > 0 ? 1 : 0;
	}
	line[n > 0 && line[n - 1] == '\n' ? n - 1 : n] = '\0';
	int rc = route_answered(c->route, line, err);
	if (rc < 0)
		client_drop(c);
	return rc;
}

static int client_connect(struct client *c, struct err *err)
{
	int rc;

	c->connections++;
	if (c->route)
		return route_connect(c, err);

	do {
		int ms = wait_ms(c);
		rc = ms == 0 ? -EAGAIN : unix_connect(c->socket, ms, err);
		if (rc != -EAGAIN || ms == 0)
			break;
		tell(c);
	} while (true);
	if (rc < 0)
		return no_server(c, rc, err);
	c->fd = rc;
	return 0;
}

/* Returns false if a connection that was used before has been closed meanwhile. */
static bool connection_lives(const struct client *c)
{
	char byte;

	return !c->used || (recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN);
}

/* ---- a request ---- */

static int head_write(struct client *c, const struct question *q, struct err *err)
{
	for (const char *p = q->path; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return err_set(err, -EINVAL,
				       "%.100s: the path of a request has a blank or control character in it", q->path);
	strbuf_clear(&c->head);
	strbuf_printf(&c->head, "%s %s HTTP/1.1\r\nHost: shunt\r\n", q->method, q->path);
	if (c->route)
		strbuf_printf(&c->head, "Authorization: Bearer %s\r\n", c->route->token);
	if (c->user)
		strbuf_printf(&c->head, "Shunt-User: %s\r\n", c->user);
	if (q->accept)
		strbuf_printf(&c->head, "Accept: %s\r\n", q->accept);
	if (q->key)
		strbuf_printf(&c->head, "Idempotency-Key: %s\r\n", q->key);
	if (q->upgrade)
		strbuf_printf(&c->head, "Connection: Upgrade\r\nUpgrade: %s\r\n", q->upgrade);
	else if (c->once && !c->route)
		strbuf_puts(&c->head, "Connection: close\r\n");
	if (q->body)
		strbuf_printf(&c->head, "Content-Type: application/json\r\nContent-Length: %zu\r\n", q->n);
	strbuf_puts(&c->head, "\r\n");
	return 0;
}

/* Sends head and body. Returns 0 also if the server closed in between, since it may have said why;
 * -EPIPE if it took nothing. */
static int question_send(struct client *c, const struct question *q, struct err *err)
{
	size_t sent = 0, all = c->head.n + (q->body ? q->n : 0);

	while (sent < all) {
		struct iovec parts[2];
		int n = 0;
		if (sent < c->head.n)
			parts[n++] = (struct iovec){c->head.text + sent, c->head.n - sent};
		size_t of_body = sent > c->head.n ? sent - c->head.n : 0;
		if (q->body && of_body < q->n)
			parts[n++] = (struct iovec){(char *)q->body + of_body, q->n - of_body};

		struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)n};
		ssize_t rc = sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (rc >= 0)
			sent += (size_t)rc;
		else if (errno == EPIPE || errno == ECONNRESET)
			return sent == 0 ? -EPIPE : 0;
		else if (errno != EAGAIN && errno != EINTR)
			return err_set(err, -errno, "can't write to the server: %s", strerror(errno));
		else if (errno == EAGAIN && (rc = client_wait(c, POLLOUT, err)) < 0)
			return (int)rc;
	}
	return 0;
}

/* Reads more bytes. Returns 1, 0 at the end, or -errno. */
static int buffer_fill(struct client *c, struct err *err)
{
	for (;;) {
		ssize_t n = client_wait(c, POLLIN, err);
		if (n < 0)
			return (int)n;
		n = recv(c->fd, c->buffer, sizeof c->buffer, MSG_DONTWAIT);
		if (n > 0) {
			c->at = 0;
			c->n = (int)n;
			return 1;
		}
		if (n == 0 || errno == ECONNRESET)
			return 0;
		if (errno != EAGAIN && errno != EINTR)
			return err_set(err, -errno, "can't read from the server: %s", strerror(errno));
	}
}

/* Reads the answer: up to the end of its head if there is no sink, else all of it. */
static int answer_read(struct client *c, const struct sink *sink, struct err *err)
{
	struct response *a = &c->answer;
	const char *body;
	int n;

	while (a->state != RESPONSE_DONE) {
		if (!sink && response_begun(a))
			return 0;
		if (c->at == c->n) {
			int rc = buffer_fill(c, err);
			if (rc <= 0)
				return rc < 0 ? rc : response_end(a, err);
		}
		/* Only the head: by lines, since single bytes would be slow; the body stays in the
		 * buffer. */
		int end = c->n;
		const char *newline = sink ? NULL : memchr(c->buffer + c->at, '\n', (size_t)(c->n - c->at));
		if (newline)
			end = (int)(newline - c->buffer) + 1;
		int took = response_feed(a, c->buffer + c->at, end - c->at, &body, &n, err);
		if (took < 0)
			return took;
		c->at += took;
		if (n > 0 && (took = sink->piece(sink->context, body, (size_t)n)) < 0)
			return took;
	}
	return 0;
}

static int answer_lost(const struct client *c, const struct question *q, struct err *err)
{
	return err_set(
		err, -ECONNRESET,
		"the server closed the connection before it answered (%s %s): the request may or may not have been carried out; check before you retry",
		q->method, q->path);
}

static bool question_repeatable(const struct question *q)
{
	return q->key || strcmp(q->method, "GET") == 0;
}

/* Sends the request and reads the head of the answer. */
static int client_begin(struct client *c, const struct question *q, struct err *err)
{
	bool repeatable = question_repeatable(q);
	int rc = head_write(c, q, err);

	c->code[0] = '\0';
	c->told = c->told || q->upgrade;
	c->yields = q->upgrade != NULL;
	c->may_sleep = false;
	c->asked = clock_ms(CLOCK_MONOTONIC);
	if (c->upgraded)
		client_drop(c);
	for (int try = 0; rc == 0; try++) {
		response_init(&c->answer);
		if (c->fd >= 0 && !connection_lives(c))
			client_drop(c);
		if (c->fd < 0 && (rc = client_connect(c, err)) < 0)
			break;
		rc = question_send(c, q, err);
		bool unsent = rc == -EPIPE;
		if (rc == 0)
			rc = answer_read(c, NULL, err);
		if (rc == 0) {
			c->used = true;
			c->doubt = false;
			return 0;
		}
		client_drop(c);
		bool silent = unsent || (rc == -ECONNRESET && c->answer.state == RESPONSE_STATUS && c->answer.n == 0);
		c->doubt = c->doubt || (silent && !unsent);
		if (!silent || try > 0)
			return silent ? answer_lost(c, q, err) : rc;
		if (!unsent && !repeatable)
			return answer_lost(c, q, err);
		rc = 0;
	}
	return rc;
}

/* Reads the body; then the connection is ready for the next request, or closed. */
static int client_finish(struct client *c, const struct sink *sink, struct err *err)
{
	int rc = answer_read(c, sink, err);

	if (rc < 0 || c->answer.close || c->at != c->n)
		client_drop(c);
	return rc;
}

/* ---- answers ---- */

/* Maps the API's error codes to errno values. */
static int errno_of(const char *word, int status)
{
	enum code code = code_find(word);

	return code ? -code_row(code)->error : status < 500 ? -EINVAL : -EIO;
}

static int answer_refused(struct client *c, const json_t *json, struct err *err)
{
	const json_t *error = json_object_get(json, "error");
	const char *code = json_string_value(json_object_get(error, "code"));
	const char *message = json_string_value(json_object_get(error, "message"));

	snprintf(c->code, sizeof c->code, "%s", code ? code : "");
	if (message)
		return err_set(err, errno_of(c->code, c->answer.status), "%s", message);
	return err_set(err, errno_of("", c->answer.status),
		       "the server refused the request, with HTTP status %d and no explanation", c->answer.status);
}

static int collect(void *context, const char *data, size_t n)
{
	struct strbuf *body = context;

	if (n > ANSWER_MAX - body->n)
		return -EFBIG;
	strbuf_add(body, data, n);
	return 0;
}

/* Reads the whole answer into memory. */
static int answer_take(struct client *c, struct reply *r, struct err *err)
{
	struct sink sink = {collect, &r->body};
	json_error_t why;

	r->status = c->answer.status;
	int rc = client_finish(c, &sink, err);
	if (rc == -EFBIG)
		return err_set(err, rc, "the answer has more than %u MB: ask for less at a time (limit=N)",
			       ANSWER_MAX >> 20);
	if (rc < 0)
		return rc;
	if (c->answer.json) {
		r->json = json_read(strbuf_text(&r->body), r->body.n, JSON_DECODE_ANY, &why);
		if (!r->json)
			return err_set(err, -EPROTO, "the server's answer is not JSON: %s at byte %d", why.text,
				       why.position);
	}
	return r->status / 100 == 2 ? 0 : answer_refused(c, r->json, err);
}

/* Takes the pass of this machine's server, which stands by: the pass admits the client to the
 * leader. */
static void pass_take(struct client *c, const json_t *error)
{
	const char *servers = json_string_value(json_object_get(error, "servers")),
		   *pass = json_string_value(json_object_get(error, "pass"));
	struct token t;

	if (c->route || !servers || !pass || token_parse(pass, &t, NULL) < 0)
		return;
	c->route = route_create("this machine's cluster", servers);
	const char *own = strrchr(servers, ' ');
	c->standby = own ? mem_strdup(own + 1) : NULL;
	c->route->fingerprint = mem_strdup(t.fingerprint);
	c->route->token = mem_strdup(pass);
}

/* Switches to another server after an answer of one that does not lead, and so did nothing; pauses
 * if needed. Returns false if there is none to ask. */
static bool leader_follow(struct client *c, const json_t *json, int64_t since)
{
	const json_t *error = json_object_get(json, "error");
	const char *leader = json_string_value(json_object_get(error, "leader"));

	if (!leader)
		leader = json_string_value(json_object_get(json, "leader"));
	if (strcmp(c->code, "not_leader") == 0)
		pass_take(c, error);
	if (!c->route || strcmp(c->code, "not_leader") != 0 || clock_ms(CLOCK_MONOTONIC) - since > TAKEOVER)
		return false;
	client_drop(c);
	poll(NULL, 0, route_follow(c->route, leader ? leader : ""));
	return true;
}

/* ---- an absent server ---- */

/* State of waiting for one request, over all its attempts. */
struct waiting {
	int64_t since; /* start, ms */
	int pause;     /* pause before the next attempt, ms */
	bool looked;   /* checked whether the socket has come back */
	bool unknown;  /* outcome not known; `since` is when that was first reported */
};

static void tell_waiting(struct client *c, int seconds, const char *why)
{
	if (!c->told)
		fprintf(stderr, "Waiting up to %d s for the Shunt server (%s): %s\n", seconds, c->socket, why);
	c->told = true;
}

/* Pauses; returns false if the time is up. */
static bool again(struct waiting *w, int64_t most)
{
	if (clock_ms(CLOCK_MONOTONIC) - w->since + w->pause > most)
		return false;
	poll(NULL, 0, w->pause);
	w->pause = w->pause * 2 < PAUSE_MOST ? w->pause * 2 : PAUSE_MOST;
	return true;
}

/* Finds the offer of the spool that this client can use; an agent's must be of the same cluster. */
static bool offer_find(const struct client *c, struct offer *ret)
{
	struct token t;
	bool found = c->offline && offer_read(c->offline, ret, NULL) == 0;

	if (found && c->route) {
		found = *ret->lease && c->route->token && token_parse(c->route->token, &t, NULL) == 0 &&
			strcmp(t.fingerprint, ret->cluster) == 0;
		explicit_bzero(&t, sizeof t);
	}
	return found;
}

/* Returns how long to wait for a server that does not listen, s: not long if the spool can be used,
 * and not at all if it already was. */
static int patience_of(const struct client *c)
{
	struct offer l;

	if (c->waits_anyway || c->doubt)
		return c->wait;
	if (!offer_find(c, &l))
		return c->far && far_wait(c->far) >= 0 ? far_wait(c->far) : c->wait;
	return offline_used(c->offline, &l) ? 0 : l.wait;
}

/* Returns true if the request is to be retried after no answer came (rc). */
static bool server_awaited(struct client *c, const struct question *q, int rc, struct waiting *w)
{
	bool absent = rc == -ECONNREFUSED || rc == -EAGAIN || (rc == -ECONNRESET && c->doubt);
	int wait = absent ? patience_of(c) : c->wait;

	/* A starting server replaces the socket of the last one: for a moment there is none. */
	if (rc == -ENOENT && c->wait > 0 && !w->looked && !c->route) {
		w->looked = true;
		poll(NULL, 0, PAUSE_FIRST);
		return true;
	}
	if (!absent || q->upgrade || (c->doubt && !question_repeatable(q)) || !again(w, (int64_t)wait * 1000))
		return false;
	if (isatty(STDERR_FILENO))
		tell_waiting(c, wait,
			     rc == -EAGAIN ? "it is busy."
			     : c->route	   ? "it is not running, or is being restarted."
					   : "it is not running ('shunt up' starts it), or is being restarted.");
	return true;
}

/* Returns true if the request is to be retried after this answer: the server has done nothing, or
 * does not know whether it has. The user sees the server's message at once if the wait is long or
 * the outcome unknown. */
static bool answer_awaited(struct client *c, const struct question *q, const struct reply *r, struct waiting *w)
{
	const char *why = json_string_value(json_object_get(json_object_get(r->json, "error"), "message"));
	bool undone = c->answer.status == 503 && strcmp(c->code, "unavailable") == 0;
	bool unknown = q->key && strcmp(c->code, "outcome_unknown") == 0;

	if ((!undone && !unknown) || q->upgrade)
		return false;
	if (unknown && !w->unknown) {
		w->unknown = true;
		w->since = clock_ms(CLOCK_MONOTONIC);
	}
	if (c->wait > 0 && (unknown || isatty(STDERR_FILENO) || clock_ms(CLOCK_MONOTONIC) - w->since > PATIENCE * 1000))
		tell_waiting(c, c->wait, why ? why : "it can't take requests now.");
	return again(w, (int64_t)c->wait * 1000);
}

/* Repeats the request until a leading server has answered. Returns 0 if the head of its answer was
 * read and the body follows; else *ret is the refusal. */
static int client_request(struct client *c, const struct question *q, struct reply *ret, struct err *err)
{
	struct waiting w = {.since = clock_ms(CLOCK_MONOTONIC), .pause = PAUSE_FIRST};

	c->told = c->doubt = false;
	for (;;) {
		*ret = (struct reply){0};
		int rc = client_begin(c, q, err);
		if (rc == 0 && (c->answer.status / 100 == 2 || (q->upgrade && c->answer.status == 101)))
			return rc;
		if (rc < 0 && !server_awaited(c, q, rc, &w))
			return c->doubt && strcmp(q->method, "GET") != 0 ? answer_lost(c, q, err) : rc;
		if (rc < 0)
			continue;
		rc = answer_take(c, ret, err);
		if (!leader_follow(c, ret->json, w.since) && !answer_awaited(c, q, ret, &w))
			return rc;
		reply_fini(ret);
	}
}

/* ---- without a server ---- */

enum presence { SERVER_UNKNOWN, SERVER_DOWN, SERVER_BACK };

/* Looks for the server after a request that certainly was not carried out. SERVER_DOWN: nobody
 * listens and the spool can be used. SERVER_BACK: one listens meanwhile, e.g. after this command
 * was suspended. The offer is read first: see tray.h. On other hosts, if `offered`, *ret was read
 * before the server was asked: trying all servers again takes time. */
static enum presence server_look(struct client *c, int rc, bool offered, struct offer *ret, struct err *err)
{
	struct err why;

	c->far_used = false;
	if (c->route && (c->doubt || (rc != -ECONNREFUSED && rc != -EHOSTDOWN)))
		return SERVER_UNKNOWN;
	if (c->route && !offered && c->far && far_wait(c->far) >= 0) {
		int far = far_open(c->far, ret, &why);
		c->far_used = far == 0;
		if (far < 0 && err) {
			struct err before = *err;
			err_set(err, rc, "%.250s. No agent keeps requests for it either: %.200s", before.text,
				why.text);
		}
	}
	if (c->route)
		return offered || c->far_used ? SERVER_DOWN : SERVER_UNKNOWN;
	if ((rc != -ECONNREFUSED && rc != -ENOENT) || !c->offline || c->doubt)
		return SERVER_UNKNOWN;
	offered = offer_find(c, ret);
	int fd = unix_connect(c->socket, PATIENCE * 1000, NULL);
	if (fd >= 0)
		close(fd);
	if (fd >= 0)
		return SERVER_BACK;
	return offered && (fd == -ECONNREFUSED || fd == -ENOENT) ? SERVER_DOWN : SERVER_UNKNOWN;
}

static int key_make(char key[KEY_SIZE], struct err *err)
{
	unsigned char random[(KEY_SIZE - 1) / 2];

	if (getrandom(random, sizeof random, 0) != sizeof random)
		return err_set(err, -errno, "can't make a key for the request: %s", strerror(errno));
	hex_encode(random, sizeof random, key);
	return 0;
}

/* Handles a request without a server. Returns -EOPNOTSUPP if it needs one, -ESTALE if one is
 * running again. */
static int question_keep(struct client *c, const struct offer *l, const struct question *q, struct reply *ret,
			 struct err *err)
{
	struct offline_question x = {.method = q->method,
				     .path = q->path,
				     .body = q->body,
				     .token = c->route ? c->route->token : NULL,
				     .far = c->far_used ? c->far : NULL,
				     .tsv = q->accept && strncmp(q->accept, "text/tab", 8) == 0};
	struct err why = {.text = ""};
	int rc = offline_answer(c->far_used ? far_dir(c->far) : c->offline, l, &x, &c->seen, ret, &why);

	if (rc < 0 && *why.text)
		*err = why;
	const char *code = json_string_value(json_object_get(json_object_get(ret->json, "error"), "code"));
	snprintf(c->code, sizeof c->code, "%s", code ? code : "");
	return rc;
}

/* Asks the server, or answers without it. *ret as in client_request(); *ret_here: it is the whole
 * answer. */
static int question_settle(struct client *c, const struct question *q, struct reply *ret, bool *ret_here,
			   struct err *err)
{
	struct offer l;
	int rc;

	*ret_here = false;
	free(c->name);
	c->name = NULL;
	for (int i = 0;; i++) {
		bool offered = c->route && offer_find(c, &l);
		rc = client_request(c, q, ret, err);
		if (rc >= 0 || ret->status || q->upgrade || i == RETURNS)
			return rc;
		enum presence found = server_look(c, rc, offered, &l, err);
		if (found == SERVER_BACK)
			continue;
		if (found == SERVER_UNKNOWN)
			return rc;
		int done = question_keep(c, &l, q, ret, err);
		if (done == -ESTALE)
			continue;
		c->name = mem_strdup(l.server);
		*ret_here = done != -EOPNOTSUPP || ret->status;
		return done == -EOPNOTSUPP ? rc : done;
	}
}

/* Refreshes the list of agents once in a while, while the server answers. */
static void far_refresh(struct client *c)
{
	const struct question q = {.method = "GET", .path = "/v1/whoami"};
	struct reply reply = {0};

	if (!c->route || !c->far || c->answer.status / 100 != 2 || !far_is_due(c->far))
		return;
	if (client_request(c, &q, &reply, NULL) == 0 && answer_take(c, &reply, NULL) == 0)
		far_learn(c->far, reply.json);
	reply_fini(&reply);
}

/* Asks, and reads the whole answer. Returns true if that broke off: the server was stopped
 * meanwhile. */
static bool question_try(struct client *c, const struct question *q, struct reply *ret, bool *ret_here, int *ret_rc,
			 struct err *err)
{
	*ret_rc = question_settle(c, q, ret, ret_here, err);
	if (*ret_rc < 0 || *ret_here)
		return false;
	*ret_rc = answer_take(c, ret, err);
	return *ret_rc == -ECONNRESET;
}

static int question_ask(struct client *c, const struct question *q, struct reply *ret, struct err *err)
{
	struct reply reply;
	bool here;
	int rc;

	if (question_try(c, q, &reply, &here, &rc, err) && question_repeatable(q)) {
		reply_fini(&reply);
		question_try(c, q, &reply, &here, &rc, err);
	}
	if (rc == 0 && !here)
		far_refresh(c);
	if (ret)
		*ret = reply;
	else
		reply_fini(&reply);
	return rc;
}

int client_ask(struct client *c, const char *method, const char *path, const char *body, size_t n, struct reply *ret,
	       struct err *err)
{
	struct question q = {.method = method, .path = path, .body = body, .n = n};

	return question_ask(c, &q, ret, err);
}

/* Sends a request with a body. */
static int body_ask(struct client *c, struct question *q, const json_t *body, struct reply *ret, struct err *err)
{
	char *text = json_dumps(body, JSON_COMPACT | JSON_ENCODE_ANY);

	if (!text) {
		if (ret)
			*ret = (struct reply){0};
		return err_set(err, -EINVAL, "the request can't be written as JSON: a text in it is not UTF-8");
	}
	q->body = text;
	q->n = strlen(text);
	int rc = question_ask(c, q, ret, err);
	free(text);
	return rc;
}

int client_ask_json(struct client *c, const char *method, const char *path, const json_t *body, struct reply *ret,
		    struct err *err)
{
	struct question q = {.method = method, .path = path};

	return body_ask(c, &q, body, ret, err);
}

int client_submit(struct client *c, const char *path, const json_t *body, struct reply *ret, struct err *err)
{
	char key[KEY_SIZE];
	struct question q = {.method = "POST", .path = path, .key = key};
	int rc = key_make(key, err);

	if (rc < 0 && ret)
		*ret = (struct reply){0};
	return rc < 0 ? rc : body_ask(c, &q, body, ret, err);
}

int client_submit_key(struct client *c, const char *key, const json_t *body, struct reply *ret, struct err *err)
{
	struct question q = {.method = "POST", .path = "/v1/jobs", .key = key};

	return body_ask(c, &q, body, ret, err);
}

void client_user(struct client *c, const char *user)
{
	free(c->user);
	c->user = user[strcspn(user, "\r\n")] ? NULL : mem_strdup(user);
}

/* What a stream is passed on to. */
struct passing {
	struct sink to;
	bool begun; /* a piece was passed on */
};

static int pass(void *context, const char *data, size_t n)
{
	struct passing *p = context;

	p->begun = true;
	return p->to.piece(p->to.context, data, n);
}

int client_read(struct client *c, const char *path, const char *accept,
		int (*piece)(void *context, const char *data, size_t n), void *context, struct err *err)
{
	struct question q = {.method = "GET", .path = path, .accept = accept};
	struct passing passing = {{piece, context}, false};
	struct sink sink = {pass, &passing};
	struct reply reply;
	bool here;

	for (int try = 0;; try++) {
		int rc = question_settle(c, &q, &reply, &here, err);
		if (rc == 0 && here)
			rc = piece(context, strbuf_text(&reply.body), reply.body.n);
		reply_fini(&reply);
		if (rc < 0 || here)
			return rc;
		c->may_sleep = true;
		rc = client_finish(c, &sink, err);
		if (rc != -ECONNRESET || passing.begun || try > 0)
			return rc;
	}
}

int client_upgrade(struct client *c, const char *path, const char *protocol, int seconds, int *ret_fd,
		   struct strbuf *rest, struct err *err)
{
	struct question q = {.method = "GET", .path = path, .upgrade = protocol};
	struct reply refused;
	int timeout = c->timeout, rc;

	c->timeout = seconds;
	rc = client_request(c, &q, &refused, err);
	c->timeout = timeout;
	reply_fini(&refused);
	if (rc < 0)
		return rc;
	if (c->answer.status != 101) {
		client_drop(c);
		return err_set(err, -EPROTO, "the server (%.300s) does not speak %s", c->socket, protocol);
	}
	strbuf_add(rest, c->buffer + c->at, (size_t)(c->n - c->at));
	c->at = c->n;
	c->upgraded = true;
	*ret_fd = c->fd;
	return 0;
}
