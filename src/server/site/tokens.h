/*
 * tokens.h - what tokens.c keeps, and api_tokens.c and munge.c make and show.
 */
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

#define JOIN_LIFE 3600		/* seconds, if not said */
#define JOIN_LIFE_MAX 2592000	/* 30 days */
#define LOGIN_LIFE 2592000	/* 30 days */
#define LOGIN_LIFE_MAX 31536000 /* a year */
#define EXPIRED_KEPT 2592000 /* 30 days: changes sealed while it was valid may still come, and a clock may be ahead */
#define MUNGE_LIFE 86400
#define SITE_LIFE 31536000 /* a year, also at most */
#define USES_MAX 10000
#define TOKENS_PER_USER 200
#define TOKENS_MAX 20000
#define SHOWN_DIGITS 32 /* of the authority's fingerprint in a token */

enum token_kind {
	TOKEN_JOIN,
	TOKEN_LOGIN,
	TOKEN_SITE /* another server, which says for which user it asks (docs/sites.md) */
};
#define TOKEN_KINDS "join|login|site"

/* A token as it is kept. Its secret is not: only the hash. */
struct token_record {
	uint64_t number; /* the 7 of "u7" */
	enum token_kind kind;
	char hash[FINGERPRINT_SIZE];
	uid_t uid;	 /* of a login: whose */
	char *user;	 /* of a login: his name then; of others: who made it */
	char *label;	 /* a note, or NULL */
	char *name;	 /* of a join: the only node it is for, or NULL; of a site: what it is called */
	int64_t created; /* instants */
	int64_t expires;
	int64_t uses;  /* of a join: how many are left */
	int64_t used;  /* when last, of a join in the store; 0: never */
	char from[64]; /* of a login: from which address, since this server began to lead; "": not known */
};

struct tokens {
	VEC(struct token_record) list; /* by number */
	VEC(struct failures {
		uint64_t from; /* address_key() */
		int64_t since; /* the minute began */
		int count;
	}) failures;
};

extern const struct schema token_shown; /* a token_record in answers */

struct tokens *tokens_of(struct server *s);
void token_id(const struct token_record *t, char ret[32]);
struct token_record *token_find(struct server *s, const char *id); /* valid until the next change; NULL */
void token_store(struct server *s, const struct token_record *t);
void token_drop(struct server *s, struct token_record *t); /* revoked */
void tokens_expire(struct server *s, int64_t since);	   /* drops what has been out of date for that many seconds */

/* Makes one: `t` has all but number, hash and created; its texts are taken over. */
struct token_record *token_add(struct server *s, struct token_record *t, char ret_text[TOKEN_SIZE]);
/* The join token of that text, if it is one, right, and has a use left. As token_check(). */
int token_check_join(struct server *s, const char *text, const char *address, struct token_record **ret,
		     struct err *err);
/* Somebody from there failed to prove who he is: CODE_UNAUTHORIZED, or CODE_TOO_MANY if that was too often. */
int token_failed(struct server *s, const char *address, struct err *err);
/* Wrong proofs from one place, an address_key() or a hash of something else that is guessed at: one more (how many of this minute), and whether there
 * were so many that the next is not looked at. */
int failures_add(struct server *s, uint64_t from);
bool failures_many(struct server *s, uint64_t from);
/* Whether a user may have login tokens at all: never root, nor the server's own account where it has many users. */
int token_user_check(struct server *s, uid_t uid, const char *user, struct err *err);
/* Makes a login token and answers with it, after the commit. w: who made it, for the audit log; NULL: not recorded. `label` may be NULL. */
void token_reply_login(struct server *s, struct http_request *r, const struct asker *w, uid_t uid, const char *user,
		       const char *label, int64_t life);

/* munge.c: answers, now or later. */
void munge_login(struct server *s, struct http_request *r, const char *credential, int64_t life);

int token_restore(struct server *s, const char *id, const json_t *o, struct err *err); /* at recovery */
/* The user of a genuine token, by its secret alone; `ret_gid` -1: the primary group. */
bool token_whose(struct server *s, const char *text, uid_t *ret_uid, gid_t *ret_gid);
/* Whom a token stands for: token_whose() has been looked up. CODE_UNAUTHORIZED: nobody (the sentence does not say which part was wrong); CODE_TOO_MANY: too many wrong ones from there. */
int token_check(struct server *s, const char *text, const char *address, struct asker *ret, struct err *err);
/* Returns true if a text was sealed by a login token, by its id, that was valid at instant `at`: then whose, with the name that the user had when it was made. */
bool token_sealed(struct server *s, const char *id, const char *text, const char *seal, int64_t at, uid_t *ret_uid,
		  const char **ret_user);
/* The name of a user's view at an agent (agent/views.c), of a login token. */
void token_view(const struct token_record *t, char ret[64]);
/* The site whose genuine token this is, by its secret alone; NULL: it is none. Borrowed. */
const char *token_site(struct server *s, const char *text);
/* A site's token, which asks for that user, who has been looked up: as token_check(). CODE_FORBIDDEN: nobody of that name may be asked for. */
int token_check_site(struct server *s, const char *text, const char *user, const char *address, struct asker *ret,
		     struct err *err);
/* Whether the proof that was shown still counts: for answers that go on. */
bool token_holds(struct server *s, const struct asker *w);
void token_of_job(const struct server *s, const char *tag, char ret[TOKEN_SIZE]);
bool token_pass(struct server *s, uid_t uid,
		char ret[TOKEN_SIZE]); /* to the server that leads, for a user of this machine */

#endif
