/*
 * client.h - the API as a C library: finds the server, asks, and says in a sentence what went wrong.
 *
 * Hand-written over a socket instead of libcurl: a q-command lives for a millisecond, and loading libcurl's libraries
 * takes ten.
 */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "client/where.h"

struct client;

/* Waiting: after 5 s without an answer a line on standard error says so, if that is a terminal; after 5 minutes (or
 * SHUNT_TIMEOUT seconds) it is -ETIMEDOUT. A stream that has begun may be silent for as long as it likes.
 *
 * A server that was killed or is being restarted (its socket is there, and nobody listens; from another host: it can't be reached), or
 * that answers "unavailable", is asked again for 30 s, or SHUNT_WAIT seconds (0: not at all); standard error says so if it is a
 * terminal. A server that was stopped with 'shunt down' is not waited for. */

/* The server this environment means: the cluster SHUNT_CLUSTER, if set; inside a job its own server, by a socket of this host or else
 * over TLS with the job's token; else an instance of this host (where.h); else the only cluster that the user has logged in to, or
 * "default" (clusters.h).
 *
 * Connects at the first request, and again when the server was restarted meanwhile: for a GET, and for a submission, which has a key by
 * which the server knows it again (client_submit). Another change whose answer was lost is not repeated, and the error says that it may
 * have been made. -ENOENT, -ECONNREFUSED: the sentence says that no server runs and how to start
 * one. Over TLS, if one of several servers can't be reached (-EHOSTUNREACH: none can, or none is trusted), or says that another leads, the
 * next is asked; while none leads, for some 20 s.
 *
 * TLS is spoken by a child process, the program shunt-connect, which ends with the connection. */
int client_open(struct client **ret, struct err *err);
int client_open_at(const char *socket, struct client **ret, struct err *err);
/* A cluster by name. -ENOENT: not logged in to it; other errors of login_read(). */
int client_open_cluster(const char *name, struct client **ret, struct err *err);
/* Servers ("HOST[:PORT]", several joined by blanks) by a token alone, whose fingerprint tells whom to trust. -EINVAL: no token, no address. */
int client_open_token(const char *where, const char *token_text, struct client **ret, struct err *err);
/* The address of this machine's own server, if that stands by and another was asked instead; else NULL. Borrowed. */
const char *client_standby(const struct client *c);
/* After an answer that was given without the server, which does not run: its name; else NULL. Borrowed. */
const char *client_absent(const struct client *c);
void client_close(struct client *c);
/* How long a server that is not there is waited for, instead of SHUNT_WAIT. */
void client_patience(struct client *c, int seconds);

struct reply {
	int status; /* HTTP */
	struct strbuf body;
	json_t *json; /* of a JSON body, else NULL */
};
void reply_fini(struct reply *r);

/* Asks. `body` may be NULL. 0 when the server answered 2xx; else -errno by the error's code (see client_code) and the
 * server's sentence. *ret is filled in both cases if the server answered at all; may be NULL. */
int client_ask(struct client *c, const char *method, const char *path, const char *body, size_t n, struct reply *ret,
	       struct err *err);
/* Submits: POST /v1/jobs with a new Idempotency-Key, repeated with the same key until the server says whether it was done. */
int client_submit(struct client *c, const json_t *body, struct reply *ret, struct err *err);
/* The same with a key of the caller's own, by which it can go on after it was restarted. */
int client_submit_key(struct client *c, const char *key, const json_t *body, struct reply *ret, struct err *err);
/* With a site's token (docs/sites.md): for whom it asks from now on. */
void client_user(struct client *c, const char *user);
int client_ask_json(struct client *c, const char *method, const char *path, const json_t *body, struct reply *ret,
		    struct err *err);
/* For large lists and streams: hands out the body as it comes (any size of pieces); return < 0 from the callback to
 * stop, which is then what client_read returns. `accept` may be NULL. -EINTR: a signal came while a stream was
 * silent. */
int client_read(struct client *c, const char *path, const char *accept,
		int (*piece)(void *context, const char *data, size_t n), void *context, struct err *err);

/* Leaves HTTP: GET with `Upgrade: protocol`. 0: *ret_fd speaks that protocol, until the next request or client_close(); `rest` gets
 * what came of it already. Waits `seconds` at most, silently. -EINTR: a signal came. */
int client_upgrade(struct client *c, const char *path, const char *protocol, int seconds, int *ret_fd,
		   struct strbuf *rest, struct err *err);

/* The API's error code of the last answer ("unknown_job", "forbidden", ...); "" if it was none, or the server was not
 * reached. */
const char *client_code(const struct client *c);

/* Percent-encodes one part of a path or a query value. */
void url_quote(const char *text, struct strbuf *out);
char *url_unquote(const char *text, size_t n); /* malloc'd */

#endif
