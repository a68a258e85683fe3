/*
 * client.h - the API as a C library: finds the server, sends requests and turns failures into
 * messages.
 *
 * It speaks HTTP over a socket itself: a q-command runs for a millisecond, and loading libcurl
 * takes ten.
 */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "client/where.h"

struct client;

/* Waiting: after 5 s without an answer a line on standard error says so, if that is a terminal.
 * After 5 minutes (or SHUNT_TIMEOUT seconds) the request fails with -ETIMEDOUT. A stream that has
 * begun may be silent for any time.
 *
 * A server that was killed or is being restarted (its socket exists but nobody listens; from
 * another host: it is unreachable), or that answers "unavailable", is retried for 30 s, or
 * SHUNT_WAIT seconds (0: not at all), with a line on standard error if that is a terminal. Commands
 * do not wait for a server that was stopped with 'shunt down'. */

/* Opens the server that the environment selects: the cluster SHUNT_CLUSTER, if set; inside a job
 * the job's server, by a socket of this host or else over TLS with the job's token; else an
 * instance of this host (where.h); else the only cluster the user has logged in to, or "default"
 * (clusters.h).
 *
 * Connects at the first request, and reconnects after a restart of the server for a GET and for a
 * submission, whose key lets the server recognize it (client_submit). Another change whose answer
 * was lost is not repeated; the error says that it may have been made. For -ENOENT and
 * -ECONNREFUSED the message says that no server runs and how to start one. Over TLS, if one of
 * several servers is unreachable (-EHOSTUNREACH: none is reachable or trusted) or says that another
 * leads, the next is asked; while none leads, for about 20 s.
 *
 * TLS is spoken by a child process, shunt-connect, which ends with the connection. */
int client_open(struct client **ret, struct err *err);
int client_open_at(const char *socket, struct client **ret, struct err *err);
/* Opens a cluster by name. Returns -ENOENT if the user is not logged in to it, or an error of
 * login_read(). */
int client_open_cluster(const char *name, struct client **ret, struct err *err);
/* Opens servers ("HOST[:PORT]", separated by blanks) with just a token, whose fingerprint says
 * which CA to trust. Returns -EINVAL if the token or an address is malformed. */
int client_open_token(const char *where, const char *token_text, struct client **ret, struct err *err);
/* Returns the address of this machine's own server if that stands by and another was asked instead;
 * else NULL. Borrowed. */
const char *client_standby(const struct client *c);
/* Returns the name of the absent server after an answer was given without it; else NULL.
 * Borrowed. */
const char *client_absent(const struct client *c);
/* Returns how many connections have been made: more than before a request if the last was lost. */
int client_connections(const struct client *c);
void client_close(struct client *c);
/* Sets how long to wait for an absent server, instead of SHUNT_WAIT. */
void client_patience(struct client *c, int seconds);
/* Announces that each further request is probably the last: a server of this host closes after its
 * answer, which is cheaper than to wait for us to hang up. Another request makes a connection. */
void client_once(struct client *c);

struct reply {
	int status; /* HTTP status */
	struct strbuf body;
	json_t *json; /* parsed JSON body, else NULL */
};
void reply_fini(struct reply *r);

/* Sends a request; `body` may be NULL. Returns 0 if the server answered 2xx; else -errno by the
 * error's code (see client_code) with the server's message. Fills in *ret in both cases if the
 * server answered at all; `ret` may be NULL. */
int client_ask(struct client *c, const char *method, const char *path, const char *body, size_t n, struct reply *ret,
	       struct err *err);
/* Submits a job: POST to `path` (/v1/jobs, /v1/jobs/ID/again) with a new Idempotency-Key, repeated
 * with that key until the server says whether the job was accepted. */
int client_submit(struct client *c, const char *path, const json_t *body, struct reply *ret, struct err *err);
/* Submits with the caller's own key, with which it can continue after a restart of its own. */
int client_submit_key(struct client *c, const char *key, const json_t *body, struct reply *ret, struct err *err);
/* Sets the user on whose behalf further requests are made, with a site's token (docs/sites.md). */
void client_user(struct client *c, const char *user);
int client_ask_json(struct client *c, const char *method, const char *path, const json_t *body, struct reply *ret,
		    struct err *err);
/* Streams the body of a large list to `piece` as it arrives, in pieces of any size. A negative
 * result of the callback stops it and is returned. `accept` may be NULL. Returns -EINTR if a signal
 * came while a stream was silent. */
int client_read(struct client *c, const char *path, const char *accept,
		int (*piece)(void *context, const char *data, size_t n), void *context, struct err *err);

/* Leaves HTTP: GET with `Upgrade: protocol`. On 0 *ret_fd speaks that protocol until the next
 * request or client_close(); `rest` gets the bytes that have arrived already. Waits at most
 * `seconds`, silently. Returns -EINTR if a signal came. */
int client_upgrade(struct client *c, const char *path, const char *protocol, int seconds, int *ret_fd,
		   struct strbuf *rest, struct err *err);

/* Returns the API's error code of the last answer ("unknown_job", "forbidden", ...); "" if it was
 * not an error or the server was not reached. */
const char *client_code(const struct client *c);

/* Percent-encodes one part of a path or a query value. */
void url_quote(const char *text, struct strbuf *out);
char *url_unquote(const char *text, size_t n); /* malloc'd */

#endif
