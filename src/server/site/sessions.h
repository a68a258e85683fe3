/*
 * sessions.h - who is signed in to the page.
 *
 * A browser proves who it is by two secrets: a cookie, which no script can read, and a token in a header, which no other origin can send. Both
 * are needed for every request: cookies of 127.0.0.1 are shown to every port of it, and a header alone would be stolen by a script.
 * The store has their hashes only.
 */
#ifndef SERVER_SESSIONS_H
#define SERVER_SESSIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct asker;
struct err;
struct http_request;
struct server;
struct sessions;

#define SESSION_HEADER "Shunt-Session"
#define SESSION_SECRET 64    /* with its NUL */
#define SESSION_LIFE 604800  /* seconds */
#define LINK_LIFE 600	     /* seconds that a link can be used, once */
#define SESSIONS_PER_USER 20 /* the oldest one ends for a new one */

struct sessions *sessions_of(struct server *s);
/* A link's secret: whoever shows it first is signed in as this user. The session of one who asks by a token ends with that. */
void session_offer(struct server *s, const struct asker *w, char ret_key[SESSION_SECRET]);
/* Signs in by it, with new secrets in any case. CODE_UNAUTHORIZED: it is wrong, used, or too old; CODE_TOO_MANY. */
int session_begin(struct server *s, const char *key, char ret_cookie[SESSION_SECRET], char ret_token[SESSION_SECRET],
		  struct err *err);
/* The same of one who has proved who he is otherwise. */
struct session_grant {
	uid_t uid;
	const char *user;
	const char
		*proof; /* the id of the login token that he showed: the session ends with it. NULL: he showed none */
};
void session_grant(struct server *s, const struct session_grant *g, char ret_cookie[SESSION_SECRET],
		   char ret_token[SESSION_SECRET]);
void session_end(struct server *s, const struct asker *w); /* the one that he asks by */
bool session_whose(struct server *s, const struct http_request *r, uid_t *ret_uid);
/* The user has been looked up. CODE_UNAUTHORIZED: nobody is signed in by what the request shows. */
int session_check(struct server *s, const struct http_request *r, struct asker *ret, struct err *err);
bool session_holds(struct server *s, const char *id);					 /* for answers that go on */
int session_restore(struct server *s, const char *id, const json_t *o, struct err *err); /* at recovery */
void session_cookie_name(const struct server *s, char ret[32]);

#endif
