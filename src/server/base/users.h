/*
 * users.h - users and groups of this machine, looked up without holding the loop.
 *
 * A site's directory (LDAP, sssd) may take seconds to answer, or never answer. So lookups run on libuv's threads, and the loop only reads the table of
 * what they found: users_find() answers at once, and starts a lookup of what it does not know. An answer is good for a minute; for some minutes more it is
 * used while a new one is fetched; after that it is waited for. Requests wait before their handlers run (api_receive()), so that handlers find the
 * user who asks; nothing else in the server asks the C library for a user (tools/check-rights).
 */
#ifndef SERVER_USERS_H
#define SERVER_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/map.h"
#include "base/vec.h"

struct err;
struct server;
struct user_record;

struct user_key {
	enum user_by { USER_BY_ID, USER_BY_NAME, GROUP_BY_ID } by;
	uint32_t id;
	const char *name; /* of USER_BY_NAME */
};

/* A user of this machine; of GROUP_BY_ID only the name. */
struct user {
	char *name, *home, *shell;
	uid_t uid;
	gid_t gid;     /* the primary group's */
	gid_t *gids;   /* all groups that have names */
	char **groups; /* their names */
	int ngroups;
};

enum lookup {
	LOOKUP_KNOWN,
	LOOKUP_NONE,	/* there is no such user */
	LOOKUP_PENDING, /* it is being looked up: users_wait() */
	LOOKUP_FAILED,	/* the directory does not answer: the sentence says why */
};

/* Owned by the server. */
struct users {
	VEC(struct user_record *) list;
	struct map index;		 /* hash of the key -> place in the list + 1 */
	VEC(struct user_record *) queue; /* of lookups that wait for a thread */
	int running;
	bool stopped;
	bool ticks;
	uv_timer_t timer; /* runs while somebody waits */
};

/* Borrowed until the next users_find(), or the loop goes on. */
enum lookup users_find(struct server *s, struct user_key k, const struct user **ret, struct err *err);
/* `done` is called once, later, when there is an answer, a failure, or the server stops. Only after LOOKUP_PENDING. */
void users_wait(struct server *s, struct user_key k, void (*done)(struct server *s, void *context), void *context);
/* What is known, however old; NULL: nothing. Starts no lookup. */
const struct user *user_known(const struct server *s, uid_t uid);
/* The name of a group that a user's process has, as far as it is known; else NULL. */
const char *user_group(const struct server *s, uid_t uid, gid_t gid);
bool user_in(const struct user *u, gid_t gid);

void users_forget(struct server *s);	 /* SIGHUP: all is looked up anew */
void users_stop(struct server *s);	 /* nobody waits any more */
bool users_busy(const struct server *s); /* a lookup runs, which nothing can end */

#endif
