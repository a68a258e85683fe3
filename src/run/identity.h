/*
 * identity.h - the user that a job runs as, and whether this nursery may run it.
 *
 * Another process queries the user database (run/lookups.h); the answers are cached here for a
 * while.
 */
#ifndef RUN_IDENTITY_H
#define RUN_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct strbuf;

struct identity {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int ngroups;
	bool change; /* false: this process already has that identity */
	/* account whose rights are used to make things for a job in the server's directories */
	const struct identity *server;
	const char *home, *shell; /* NULL: not looked up */
};

enum identity_age {
	IDENTITY_NONE,	/* must be looked up first */
	IDENTITY_STALE, /* usable while it is looked up again */
	IDENTITY_FRESH
};
enum identity_age identity_age(const char *user, bool by_name);
/* Queries the user database, which may never answer: call it in a separate process. */
void identity_look(const char *user, struct strbuf *out);
/* Stores what identity_look() wrote; 0 bytes: it did not finish. */
void identity_keep(const char *user, const char *answer, size_t n);

/* Fills *ret. With uid BY_NAME (order.h), uid and gid are this host's for the name. Returns -EPERM
 * with the reason if the user can't have jobs here or is not known. *ret is valid until the next
 * identity_keep(). */
int identity_get(uid_t uid, gid_t gid, const char *user, bool root_jobs, struct identity *ret, struct err *err);
/* Replaces root's supplementary groups by the user's, once. Files are accessed through rights.h. */
int identity_groups(const struct identity *who);
/* Becomes the user for good: real, effective and saved ids. Returns 0 or -errno. */
int identity_become(const struct identity *who);

#endif
