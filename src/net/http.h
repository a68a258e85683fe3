/*
 * http.h - the HTTP side of the API: requests come in, replies leave when they are told to, streams go on.
 *
 * libmicrohttpd parses; its epoll descriptor is polled by the server's libuv loop. A request is handed over once it
 * is complete, with who sent it (SO_PEERCRED, or an address). The handler returns nothing: it must answer each request exactly once,
 * now or later, with http_reply() or http_stream(); nothing is sent before http_flush(), so that replies can wait for
 * the commit.
 *
 * A request stays valid until it is answered and sent, also when its client went away meanwhile; http_stop() ends it
 * unanswered. All of this belongs to the loop's thread.
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

/* Bounds: what goes past them is answered by http itself, with JSON. A connection that has been idle for a second makes room for a new
 * one: of the same user at his limit; at the limit of all, or when there are no descriptors left, of the user who has the most.
 * Each door (the local socket, TLS, the page) keeps an eighth of all connections, which the others can't take. */
struct http_limits {
	size_t body;	 /* bytes of a body: 413 */
	int connections; /* at once: 503 */
	int per_uid;	 /* connections of one user by all doors, or of one address whose users are not known: 429 */
	int reserve;	 /* connections beyond `connections` that root, and the user of this process, can have */
	double rate; /* requests a second and user, 0: no limit; with a burst of ten seconds' worth: 429 with Retry-After */
	int idle_seconds; /* without a complete request, however many bytes trickle in, or without reading the answer: closed */
	/* Returns true if the head of a request that came by TLS or to the page shows who sends it: asked before its body is kept. *ret_uid stays -1 if
	 * that is not a user of this machine. A stranger's body, if it is larger than STRANGER_BODY, is dropped, and the request handed over without it,
	 * to be refused. NULL: nobody is a stranger. */
	bool (*known)(void *context, const struct http_request *r, uid_t *ret_uid);
};
#define STRANGER_BODY (1u << 20)

typedef void (*http_handler)(void *context, struct http_request *r);

/* Listens on `fd`, a listening UNIX stream socket, which is then owned. The handler must not call http_stop(). */
int http_start(uv_loop_t *loop, int fd, const struct http_limits *limits, http_handler handler, void *context,
	       struct http **ret, struct err *err);
/* Serves one more connection, that came decrypted through net/listener.h; `fd` is taken over. Nobody's uid is behind it:
 * request_remote() is then the address, and request_peer() gives uid and gid -1. */
int http_adopt(struct http *h, int fd, const char *address, struct err *err);
/* The same of one that wants the page: request_page() is then true. */
int http_adopt_page(struct http *h, int fd, const char *address, struct err *err);
/* Listens on one more socket, which is then owned: TCP of the loopback interface, for the page. Nobody's uid is behind its connections:
 * request_remote() is their address, and request_page() is true. */
void http_listen_page(struct http *h, int fd);
/* Closes a connection that idles, of those over TLS or of the page's. False: none idles. */
bool http_make_room(struct http *h, bool page);
/* Closes all connections, and the streams' sources; what was flushed has one try to leave. Memory is freed by the
 * loop's next turn. */
void http_stop(struct http *h);

/* ---- a request ---- */
const char *
request_method(const struct http_request
		       *r); /* "GET" (of a HEAD, too: the body is dropped), "POST", "PUT", "PATCH", "DELETE" */
const char *request_path(const struct http_request *r); /* decoded, without the query: "/v1/jobs/12" */
const char *request_query(const struct http_request *r, const char *name);  /* decoded value, or NULL */
const char *request_header(const struct http_request *r, const char *name); /* or NULL */
const char *request_body(const struct http_request *r, size_t *ret_n);	    /* NUL-terminated; NULs may be inside */
struct peer request_peer(const struct http_request *r);
const char *
request_remote(const struct http_request *r);	     /* the address of one that came by TLS; NULL: the local socket */
bool request_page(const struct http_request *r);     /* it came by the page's own port */
struct arena *request_arena(struct http_request *r); /* lives as long as the request */
void request_again(struct http_request *r);	     /* hands one that has no answer yet to the handler once more */

/* Answers. `body` is copied; a strbuf is emptied into the answer, without a copy. */
void http_reply(struct http_request *r, int status, const char *type, const void *body, size_t n);
void http_reply_strbuf(struct http_request *r, int status, const char *type, struct strbuf *body);
/* {"error":{"code":...,"message":...}}, with the status of the code, and what the message was made of (base/phrase.h) */
void http_refuse(struct http_request *r, const struct err *err);
void http_error(struct http_request *r, enum code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void http_header(struct http_request *r, const char *name, const char *value); /* for the answer that follows */

/* A streamed answer: `fill` is called when there is room, appends up to about `want` bytes to `out` and returns 1
 * (more may come at once), 0 (nothing more now: it is called again after stream_wake() and http_flush()) or -1 (the
 * end). It may be called at any turn, so it hands out only what is committed. `close` (may be NULL) is called once,
 * also when the client went away; the request is gone then. */
struct stream_source {
	int (*fill)(void *context, struct strbuf *out, size_t want);
	void (*close)(void *context);
	void *context;
};
void http_stream(struct http_request *r, int status, const char *type, const struct stream_source *source);
void stream_wake(struct http_request *r);

/* A request that comes from no connection: `peer` asks, as the caller has made sure of. It goes through the handler as others do, which the caller calls
 * itself. `done` gets the answer, within http_flush(); it must make no other request. A stream can't be asked for. All is copied. NULL: the path is
 * broken. */
struct inner {
	struct peer peer;
	const char *method, *path, *key; /* the path with its query; Idempotency-Key, or NULL */
	const void *body;
	size_t n;
	uint64_t number; /* of the job to be submitted, which its user knows already; 0: none */
	int64_t time_us; /* when the user asked for it */
	const char *token,
		*address; /* the id of a token by which it is known who asks, and from where; NULL: as by the local socket */
	void (*done)(void *context, int status, const char *body, size_t n);
	void *context;
};
struct http_request *http_inner(struct http *h, const struct inner *x);
uint64_t request_number(const struct http_request *r);				   /* of an inner one; else 0 */
int64_t request_time_us(const struct http_request *r);				   /* the same */
const char *request_token(const struct http_request *r, const char **ret_address); /* the same; else NULL */

/* Leaves HTTP (101, `Upgrade: protocol`): once the head is sent, `taken` gets a descriptor of the connection, whose bytes both ways are
 * the caller's; it closes it with http_release(), also after http_stop(). It is not called when the client went away before, or sent more before it
 * had the answer. */
void http_upgrade(struct http_request *r, const char *protocol, void (*taken)(void *context, int fd, void *handle),
		  void *context);
void http_release(void *handle);

/* Sends what was answered since the last call. The server calls it after each commit. */
void http_flush(struct http *h);

struct http_stats {
	uint64_t requests, rejected;
	int connections;
};
struct http_stats http_stats(const struct http *h);

#endif
