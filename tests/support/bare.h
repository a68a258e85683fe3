/*
 * bare.h - a server without sockets and processes: the real one, with a real store, whose requests, engine and clock are functions here. It can be dropped
 * and opened again from its store at any moment; the attempts that it ordered go on, as processes would.
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
};

/* An attempt that was ordered, and of which the server was not told the end. */
struct bare_attempt {
	char tag[64];
	char host[64];	  /* with an agent; "": it is all here */
	bool started;	  /* and that was told */
	int signal;	  /* the last one sent */
	int64_t walltime; /* it may run for so many seconds */
	int saves;	  /* how often it was asked to save its work and end */
};

/* A server on the store in `dir`, new or as it was left, up to the first turn of its loop. */
struct server *bare_open(const char *dir, const char *nodes);
/* Called between turns while an answer is waited for; NULL: nothing is. */
extern void (*bare_between)(struct server *s);
/* Asks as a user, and lets turns pass until it is answered. Returns the status; `ret`, whose body is the caller's, may be NULL. */
int bare_ask(struct server *s, uid_t uid, const char *method, const char *path, const char *body,
	     struct bare_answer *ret);
/* Another site asks by its token, for a user. */
int bare_visit(struct server *s, const char *token, const char *user, const char *path, const char *key,
	       const char *body, struct bare_answer *ret);
/* A submission that was left while there was no server: key, number, time and body of `x` count. */
int bare_left(struct server *s, uid_t uid, const struct inner *x, struct bare_answer *ret);

/* The same, but returns at once; the answer comes with the turns, or never if the server is dropped before. A key makes it repeatable; NULL: none. */
struct http_request;
struct http_request *bare_begin(struct server *s, uid_t uid, const char *method, const char *path, const char *key,
				const char *body, struct bare_answer *ret);
bool bare_answered(const struct http_request *r);
void bare_end(struct http_request *r); /* it is answered, or its server is gone */

void bare_clock(int64_t us); /* what every clock shows from now on; 0: the machine's */

/* An agent says what it is and has, if it was not connected, and then how its owner is (NULL: it says nothing). One at a time. */
void bare_agent_hear(struct server *s, const struct cert_names *who, const char *facts, const json_t *owner);
void bare_agent_go(bool lossy); /* the connection is lost, if there was one; and what was ordered and not begun */
bool bare_reached(const struct bare_attempt *x); /* its host can tell what becomes of it */

size_t bare_attempts(const struct bare_attempt **ret);
void bare_started(struct server *s, const char *tag); /* tells the server */
void bare_forget(const char *tag);		      /* it is gone: to be called before its end is told */
void bare_clear(void);				      /* all are gone: another world */

#endif
