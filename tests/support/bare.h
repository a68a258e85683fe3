/*
 * bare.h - a server without sockets and processes: the real server with a real store, whose
 * requests, engine and clock are functions here. It can be dropped and reopened from its store at
 * any moment; the attempts that it ordered continue, as processes would.
 */
#ifndef SUPPORT_BARE_H
#define SUPPORT_BARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "base/vec.h"

struct cert_names;
struct inner;

struct bare_answer {
	int status;
	struct strbuf body;
	char type[64];	  /* value of Content-Type */
	char cookie[128]; /* value of Set-Cookie; "": none was set */
	bool replayed;	  /* the header Idempotency-Replayed is true */
};

/* A client with headers. */
struct bare_client {
	bool page; /* it is a browser, on another machine */
	struct {
		const char *name, *value; /* value NULL: not sent */
	} header[5];
};

/* An attempt that was ordered and whose end was not reported to the server yet. */
struct bare_attempt {
	char tag[64];
	char host[64];	  /* host with an agent; "": everything runs here */
	bool started;	  /* true once the start was reported */
	int signal;	  /* last signal sent */
	int64_t walltime; /* seconds that it may run */
	int saves;	  /* number of requests to save its work and end */
	bool lost;	  /* its processes are gone, and what they left is being ended */
};

/* Opens a server on the store in `dir`, new or existing, up to the first turn of its loop. */
struct server *bare_open(const char *dir, const char *nodes);
/* Called between turns while waiting for an answer; may be NULL. */
extern void (*bare_between)(struct server *s);
/* Opens a file for a user in place of the nursery, or returns -1 with errno; NULL: such requests
 * are not answered. */
extern int (*bare_opens)(const char *path, int flags, int mode);
/* Called with the parts of an attempt that is ordered to start; may be NULL. */
struct part_order;
extern void (*bare_ordered)(const struct part_order *parts, int n);
/* Number of parts, of a turn each, in which the last list was written. */
extern int bare_fills;
/* Port that is opened where a server wants one; 0: none can be. Nobody connects to it. */
extern void (*bare_created)(struct server *s); /* called before it recovers; NULL: nothing */
extern int bare_port;
/* Sends a request as a user and runs turns until it is answered. Returns the status; `ret` may
 * be NULL, and the caller owns its body. */
int bare_ask(struct server *s, uid_t uid, const char *method, const char *path, const char *body,
	     struct bare_answer *ret);
/* The same for a client of this machine with headers and, if not NULL, a key. */
int bare_call(struct server *s, uid_t uid, const struct bare_client *from, const char *method, const char *path,
	      const char *key, const char *body, struct bare_answer *ret);
/* Sends a request of another site, authenticated by its token, on behalf of a user. */
int bare_visit(struct server *s, const char *token, const char *user, const char *path, const char *key,
	       const char *body, struct bare_answer *ret);
/* Sends a request of a client on another machine. */
int bare_remote(struct server *s, const struct bare_client *from, const char *method, const char *path,
		const char *body, struct bare_answer *ret);
/* Delivers a submission that was left while there was no server: key, number, time and body come
 * from `x`. */
int bare_left(struct server *s, uid_t uid, const struct inner *x, struct bare_answer *ret);

/* Begins a request and returns at once; the answer comes in later turns, or never if the server
 * is dropped first. A key makes it repeatable; NULL: none. */
struct http_request;
struct http_request *bare_begin(struct server *s, uid_t uid, const char *method, const char *path, const char *key,
				const char *body, struct bare_answer *ret);
/* Receives a request; bare_settle() lets large bodies be read beside the loop. */
struct http_request *bare_receive(struct server *s, uid_t uid, const char *method, const char *path, const char *body,
				  struct bare_answer *ret);
void bare_settle(struct server *s);
/* Begins a request for a connection that is more than HTTP: of a client of this machine. */
struct http_request *bare_connect(struct server *s, uid_t uid, const struct bare_client *from, const char *path,
				  struct bare_answer *ret);
/* Hands over the client's connection after an answer of 101. */
void bare_upgrade(struct http_request *r, int fd);
/* Connects the terminal of an attempt on this machine, after terminals_begin(). */
void bare_terminal(const char *tag, int fd);
bool bare_answered(const struct http_request *r);
void bare_end(struct http_request *r); /* after it is answered or its server is gone */

void bare_clock(int64_t us); /* sets every clock; 0: use the machine's */

/* Makes an agent report its facts, if it was not connected, and then its owner's state (NULL:
 * none). One at a time. */
void bare_agent_hear(struct server *s, const struct cert_names *who, const char *facts, const json_t *owner);
void bare_agent_go(bool lossy);			 /* loses the connection, if any, and orders that have not begun */
bool bare_reached(const struct bare_attempt *x); /* true if its host can report its fate */

size_t bare_attempts(const struct bare_attempt **ret);
void bare_started(struct server *s, const char *tag); /* reports the start to the server */
void bare_lose(const char *tag);		      /* its processes are killed while no server runs */
void bare_forget(const char *tag);		      /* removes an attempt; call it before its end is reported */
void bare_clear(void);				      /* removes all attempts, for another test */

#endif
