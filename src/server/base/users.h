/*
 * users.h - users and groups of this machine, looked up without blocking the loop.
 *
 * A site's directory (LDAP, sssd) may take seconds to answer, or never answer. So lookups run on
 * libuv's threads, and the loop only reads the table of their results: users_find() answers at
 * once, and starts a lookup for an unknown key. A result is valid for a minute; for some minutes
 * more it is used while a new one is fetched; after that callers wait for the new one. Requests
 * wait before their handlers run (api_receive()), so that handlers find the client's user. Nothing
 * else in the server looks up users in the C library (tools/check-rights).
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
	const char *name; /* for USER_BY_NAME */
};

/* A user of this machine; for GROUP_BY_ID only the name is set. */
struct user {
	char *name, *home, *shell;
	uid_t uid;
	gid_t gid;     /* primary group */
	gid_t *gids;   /* all groups with names */
	char **groups; /* their names */
	int ngroups;
};

enum lookup {
	LOOKUP_KNOWN,
	LOOKUP_NONE,	/* no such user */
	LOOKUP_PENDING, /* lookup is running: call users_wait() */
	LOOKUP_FAILED,	/* the directory does not answer; the error says why */
};

/* Table of users; owned by the server. */
struct users {
	VEC(struct user_record *) list;
	struct map index;		 /* hash of the key -> index in the list + 1 */
	VEC(struct user_record *) queue; /* lookups that wait for a thread */
	int running;
	bool stopped;
	bool ticks;
	uv_timer_t timer; /* runs while a caller waits */
};

/* Looks up a user. The result is borrowed until the next users_find() or the return to the loop. */
enum lookup users_find(struct server *s, struct user_key k, const struct user **ret, struct err *err);
/* Calls `done` once, later: on an answer, on a failure, or when the server stops. Only to be
 * called after LOOKUP_PENDING. */
void users_wait(struct server *s, struct user_key k, void (*done)(struct server *s, void *context), void *context);
/* Returns the last known record, however old, or NULL. Starts no lookup. */
const struct user *user_known(const struct server *s, uid_t uid);
/* Returns the name of a group of a user's process if it is known, else NULL. */
const char *user_group(const struct server *s, uid_t uid, gid_t gid);
bool user_in(const struct user *u, gid_t gid);

void users_forget(struct server *s); /* makes every user be looked up again (SIGHUP) */
void users_stop(struct server *s);   /* drops all waiting callers */
/* Returns true if a lookup is running; it cannot be cancelled. */
bool users_busy(const struct server *s);

#endif
