/* tokens.h - tokens: kept by tokens.c, made and shown by api_tokens.c and munge.c. */
#ifndef SERVER_TOKENS_H
#define SERVER_TOKENS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "tls/pki.h"

struct asker;
struct http_request;
struct server;

#define JOIN_LIFE 3600		/* seconds, the default */
#define JOIN_LIFE_MAX 2592000	/* 30 days */
#define LOGIN_LIFE 2592000	/* 30 days */
#define LOGIN_LIFE_MAX 31536000 /* a year */
/* 30 days: changes sealed while the token was valid may still arrive, and a clock may be ahead */
#define EXPIRED_KEPT 2592000
#define MUNGE_LIFE 86400
#define SITE_LIFE 31536000 /* a year; default and maximum */
#define USES_MAX 10000
#define TOKENS_PER_USER 200
#define TOKENS_MAX 20000
#define SHOWN_DIGITS 32 /* digits of the authority's fingerprint in a token */

enum token_kind {
	TOKEN_JOIN,
	TOKEN_LOGIN,
	TOKEN_SITE /* another server, which names the user it asks for (docs/sites.md) */
};
#define TOKEN_KINDS "join|login|site"

/* A token as it is kept: with the hash of its secret only. */
struct token_record {
	uint64_t number; /* the 7 of "u7" */
	enum token_kind kind;
	char hash[FINGERPRINT_SIZE];
	uid_t uid;	 /* login: its user */
	char *user;	 /* login: the user's name at the time; others: who made it */
	char *label;	 /* a note, or NULL */
	char *name;	 /* join: the only node it is for, or NULL; site: the site's name */
	int64_t created; /* instants */
	int64_t expires;
	int64_t uses; /* join: uses left */
	int64_t used; /* instant of the last use, stored for a join only; 0: never */
	/* login: address of the last use since this server began to lead; "": not known */
	char from[64];
};

struct tokens {
	VEC(struct token_record) list; /* by number */
	VEC(struct failures {
		uint64_t from; /* address_key() */
		int64_t since; /* start of the minute */
		int count;
	}) failures;
};

extern const struct schema token_shown; /* token_record in answers */

struct tokens *tokens_of(struct server *s);
void token_id(const struct token_record *t, char ret[32]);
/* Finds a token by its id; valid until the next change; NULL: none. */
struct token_record *token_find(struct server *s, const char *id);
void token_store(struct server *s, const struct token_record *t);
void token_drop(struct server *s, struct token_record *t); /* revokes it */
/* Drops tokens that expired more than `since` seconds ago. */
void tokens_expire(struct server *s, int64_t since);

/* Makes a token: `t` has everything except number, hash and created; its texts are taken over. */
struct token_record *token_add(struct server *s, struct token_record *t, char ret_text[TOKEN_SIZE]);
/* Finds the join token with that text, if it is valid and has a use left. Errors as for
 * token_check(). */
int token_check_join(struct server *s, const char *text, const char *address, struct token_record **ret,
		     struct err *err);
/* Counts a failed authentication from that address: CODE_UNAUTHORIZED, or CODE_TOO_MANY after
 * too many. */
int token_failed(struct server *s, const char *address, struct err *err);
/* Count wrong proofs by origin, an address_key() or a hash of another thing that is guessed at.
 * failures_add() adds one and returns the number within this minute; failures_many() returns
 * true if the next proof must not be checked. */
int failures_add(struct server *s, uint64_t from);
bool failures_many(struct server *s, uint64_t from);
/* Checks that a user may have login tokens at all: never root, nor the server's own account if
 * it serves many users. */
int token_user_check(struct server *s, uid_t uid, const char *user, struct err *err);
/* Makes a login token and replies with it after the commit. w: who made it, for the audit log;
 * NULL: not recorded. `label` may be NULL. */
void token_reply_login(struct server *s, struct http_request *r, const struct asker *w, uid_t uid, const char *user,
		       const char *label, int64_t life);

/* Replies now or later (munge.c). */
void munge_login(struct server *s, struct http_request *r, const char *credential, int64_t life);

/* Restores a token, at recovery. */
int token_restore(struct server *s, const char *id, const json_t *o, struct err *err);
/* Finds the user of a genuine token by its secret alone; `ret_gid` -1: the primary group. */
bool token_whose(struct server *s, const char *text, uid_t *ret_uid, gid_t *ret_gid);
/* Authenticates a token, whose user (token_whose()) has been looked up. CODE_UNAUTHORIZED: it is
 * not valid (the error does not say which part was wrong); CODE_TOO_MANY: too many wrong ones
 * from that address. */
int token_check(struct server *s, const char *text, const char *address, struct asker *ret, struct err *err);
/* Returns true if a text was sealed with the login token of that id while it was valid, at
 * instant `at`; also returns its user, with the name at the time the token was made. */
bool token_sealed(struct server *s, const char *id, const char *text, const char *seal, int64_t at, uid_t *ret_uid,
		  const char **ret_user);
/* Writes the name of a login token's view at an agent (agent/views.c). */
void token_view(const struct token_record *t, char ret[64]);
/* Returns the site of a genuine site token, by its secret alone; NULL: it is not one. Borrowed. */
const char *token_site(struct server *s, const char *text);
/* Authenticates a site's token for that user, who has been looked up. Errors as for
 * token_check(). CODE_FORBIDDEN: the site may not act for that name. */
int token_check_site(struct server *s, const char *text, const char *user, const char *address, struct asker *ret,
		     struct err *err);
/* Returns true if the client's proof is still valid; for streamed answers. */
bool token_holds(struct server *s, const struct asker *w);
void token_of_job(const struct server *s, const char *tag, char ret[TOKEN_SIZE]);
/* Makes a token for the leading server, for a user of this machine. */
bool token_pass(struct server *s, uid_t uid, char ret[TOKEN_SIZE]);

#endif
