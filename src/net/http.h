/*
 * http.h - the HTTP side of the API: receives requests, sends replies when told to, and keeps
 * streams open.
 *
 * libmicrohttpd parses; the server's libuv loop polls its epoll descriptor. A complete request is
 * passed to the handler together with its sender (SO_PEERCRED, or an address). The handler returns
 * nothing: it must answer each request exactly once, now or later, with http_reply() or
 * http_stream(). Nothing is sent before http_flush(), so that replies can wait for the commit.
 *
 * A request stays valid until it is answered and sent, even if its client has gone; http_stop()
 * ends it unanswered. All of this belongs to the loop's thread.
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/code.h"
#include "base/err.h"
#include "base/strbuf.h"

struct http;	     /* the listener */
struct http_request; /* one request, owned by http until it is answered and sent */

struct peer {
	uid_t uid;
	gid_t gid;
	pid_t pid;
};

/* Bounds. A request beyond them is answered here, with JSON. A connection that has been idle for
 * a second is closed to admit a new one: one of the same user at that user's limit; one of the
 * user who has the most at the limit of all, or when no descriptor is left. Each door (the local
 * socket, TLS, the page) keeps an eighth of all connections, which the others cannot take. */
struct http_limits {
	size_t body;	 /* largest body, bytes: 413 */
	int connections; /* connections at once: 503 */
	/* connections of one user through all doors, or of one address whose users are not
	 * known: 429 */
	int per_uid;
	int reserve; /* additional connections for root and the user of this process */
	/* requests per second and user, 0: unlimited; bursts of ten seconds' worth are allowed:
	 * 429 with Retry-After */
	double rate;
	/* a connection is closed after this time without a complete request, even if bytes
	 * trickle in, or without reading the answer */
	int idle_seconds;
	/* Returns true if the head of a request that came by TLS or to the page identifies its
	 * sender; called before the body is kept. *ret_uid stays -1 if the sender is not a user
	 * of this machine. A stranger's body larger than STRANGER_BODY is dropped, and the
	 * handler gets the request without it, to refuse it. NULL: nobody is a stranger. */
	bool (*known)(void *context, const struct http_request *r, uid_t *ret_uid);
};
#define STRANGER_BODY (1u << 20)

typedef void (*http_handler)(void *context, struct http_request *r);

/* Listens on `fd`, a listening UNIX stream socket, and takes it over. The handler must not call
 * http_stop(). */
int http_start(uv_loop_t *loop, int fd, const struct http_limits *limits, http_handler handler, void *context,
	       struct http **ret, struct err *err);
/* Serves a connection that net/listener.h has decrypted; takes `fd` over. It has no uid:
 * request_remote() returns the address, and request_peer() has uid and gid -1. */
int http_adopt(struct http *h, int fd, const char *address, struct err *err);
/* Does the same for a connection to the page: request_page() is then true. */
int http_adopt_page(struct http *h, int fd, const char *address, struct err *err);
/* Listens on a loopback TCP socket for the page as well, and takes it over. Its connections have
 * no uid: request_remote() returns their address, and request_page() is true. */
void http_listen_page(struct http *h, int fd);
/* Closes an idle connection, either of the page or of TLS. Returns false if none is idle. */
bool http_make_room(struct http *h, bool page);
/* Closes all connections and the streams' sources; flushed answers get one attempt to be sent.
 * Memory is freed in the loop's next turn. */
void http_stop(struct http *h);

/* ---- a request ---- */
/* "GET" (also for a HEAD: the body is dropped), "POST", "PUT", "PATCH", "DELETE" */
const char *request_method(const struct http_request *r);
const char *request_path(const struct http_request *r); /* decoded, without the query: "/v1/jobs/12" */
const char *request_query(const struct http_request *r, const char *name);  /* decoded value, or NULL */
const char *request_header(const struct http_request *r, const char *name); /* or NULL */
const char *request_body(const struct http_request *r, size_t *ret_n);	    /* NUL-terminated; NULs may be inside */
/* Gives the body to the caller, who frees it: it outlives the request. */
struct strbuf request_take_body(struct http_request *r);
struct peer request_peer(const struct http_request *r);
/* Address of a request that came by TLS; NULL: the local socket. */
const char *request_remote(const struct http_request *r);
bool request_page(const struct http_request *r);     /* true if it came through the page's own port */
struct arena *request_arena(struct http_request *r); /* lives as long as the request */
/* Keeps something with the request; `leave` is called when the request ends. */
void request_attach(struct http_request *r, void *what, void (*leave)(void *what));
void *request_attached(const struct http_request *r); /* NULL: nothing */
/* Passes a request without an answer to the handler again. */
void request_again(struct http_request *r);

/* Answer a request. `body` is copied; a strbuf is emptied into the answer without a copy. */
void http_reply(struct http_request *r, int status, const char *type, const void *body, size_t n);
void http_reply_strbuf(struct http_request *r, int status, const char *type, struct strbuf *body);
/* Answers {"error":{"code":...,"message":...}} with the status of the code and the parts of the
 * message (base/phrase.h). */
void http_refuse(struct http_request *r, const struct err *err);
void http_error(struct http_request *r, enum code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Adds a header to the answer that follows. */
void http_header(struct http_request *r, const char *name, const char *value);

/* The source of a streamed answer. `fill` is called when there is space: it appends up to about
 * `want` bytes to `out` and returns 1 (more may follow at once), 0 (nothing now: it is called
 * again after stream_wake() and http_flush()) or -1 (end). It may be called in any turn, so it
 * must only return committed data. `close` (may be NULL) is called once, also if the client has
 * gone; the request is then no longer valid. */
struct stream_source {
	int (*fill)(void *context, struct strbuf *out, size_t want);
	void (*close)(void *context);
	void *context;
};
void http_stream(struct http_request *r, int status, const char *type, const struct stream_source *source);
void stream_wake(struct http_request *r);

/* A request without a connection, made on behalf of `peer`, whom the caller has authenticated.
 * The caller passes it to the handler itself. `done` gets the answer, within http_flush(); it
 * must not make another request. Streams are not supported. Everything is copied. Returns NULL
 * if the path is malformed. */
struct inner {
	struct peer peer;
	const char *method, *path, *key; /* path with its query; `key`: Idempotency-Key, or NULL */
	const void *body;
	size_t n;
	uint64_t number; /* number of the job to submit, which its user already knows; 0: none */
	int64_t time_us; /* when the user made the request */
	/* id of the token that authenticated the user, and the client's address; NULL: as
	 * through the local socket */
	const char *token, *address;
	void (*done)(void *context, int status, const char *body, size_t n);
	void *context;
};
struct http_request *http_inner(struct http *h, const struct inner *x);
uint64_t request_number(const struct http_request *r); /* 0 unless it is an inner request */
int64_t request_time_us(const struct http_request *r); /* 0 unless it is an inner request */
/* Returns NULL unless it is an inner request. */
const char *request_token(const struct http_request *r, const char **ret_address);

/* Leaves HTTP (101, `Upgrade: protocol`): once the head is sent, `taken` gets a descriptor of
 * the connection, and the caller owns both directions; it closes it with http_release(), also
 * after http_stop(). `taken` is not called if the client has gone, or has sent more before it
 * had the answer. */
void http_upgrade(struct http_request *r, const char *protocol, void (*taken)(void *context, int fd, void *handle),
		  void *context);
void http_release(void *handle);

/* Sends the answers made since the last call, in the next turn or by http_send(). The server calls
 * it after each commit. */
void http_flush(struct http *h);
/* Does now what http_flush() has left for the next turn. May pass requests to the handler. */
void http_send(struct http *h);

struct http_stats {
	uint64_t requests, rejected;
	int connections;
};
struct http_stats http_stats(const struct http *h);
/* Counts the open connections that new ones may replace. */
int http_connections_idle(const struct http *h);

#endif
