/*
 * sessions.h - sessions of users signed in to the web page.
 *
 * A browser identifies itself by two secrets: a cookie, which no script can read, and a token in a
 * header, which no other origin can send. Every request needs both: cookies of 127.0.0.1 are sent
 * to all of its ports, and a script could steal a header alone. The store has only their hashes.
 */
#ifndef SERVER_SESSIONS_H
#define SERVER_SESSIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

struct asker;
struct err;
struct http_request;
struct server;

#define SESSION_HEADER "Shunt-Session"
#define SESSION_SECRET 64    /* including its NUL */
#define SESSION_LIFE 604800  /* seconds */
#define LINK_LIFE 600	     /* lifetime of a sign-in link, seconds; it works once */
#define SESSIONS_PER_USER 20 /* a new one ends the oldest */

/* Makes the secret of a link: the first client to show it is signed in as this user. If the user
 * asked with a token, the session ends with that token. */
void session_offer(struct server *s, const struct asker *w, char ret_key[SESSION_SECRET]);
/* Signs in with a link's secret and returns new secrets in any case. CODE_UNAUTHORIZED: it is
 * wrong, used or expired; CODE_TOO_MANY. */
int session_begin(struct server *s, const char *key, char ret_cookie[SESSION_SECRET], char ret_token[SESSION_SECRET],
		  struct err *err);
/* A sign-in of a user who was authenticated in another way. */
struct session_grant {
	uid_t uid;
	const char *user;
	/* id of the login token shown: the session ends with it. NULL: none was shown */
	const char *proof;
};
void session_grant(struct server *s, const struct session_grant *g, char ret_cookie[SESSION_SECRET],
		   char ret_token[SESSION_SECRET]);
void session_end(struct server *s, const struct asker *w); /* ends the session of this client */
bool session_whose(struct server *s, const struct http_request *r, uid_t *ret_uid);
/* Checks the session of a request, whose user has been looked up. CODE_UNAUTHORIZED: no valid
 * session. */
int session_check(struct server *s, const struct http_request *r, struct asker *ret, struct err *err);
/* Returns true if the session is still valid; for streamed answers. */
bool session_holds(struct server *s, const char *id);
/* Restores a session, at recovery. */
int session_restore(struct server *s, const char *id, const json_t *o, struct err *err);
void session_cookie_name(const struct server *s, char ret[32]);

#endif
