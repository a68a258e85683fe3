/*
 * identity.h - as whom a job runs, and whether this nursery may let it.
 *
 * What the user database says of a user is asked for by another process (run/lookups.h) and kept here for a while.
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
	bool change; /* else it is already what this process is */
	const struct identity
		*server; /* what is made for a job in the server's directories is made with its account's rights */
	const char *home, *shell; /* NULL: they were not looked up */
};

enum identity_age {
	IDENTITY_NONE,	/* it must be looked up first */
	IDENTITY_STALE, /* it can be used while it is looked up anew */
	IDENTITY_FRESH
};
enum identity_age identity_age(const char *user, bool by_name);
/* Asks the user database, which may never answer: in a process of its own. */
void identity_look(const char *user, struct strbuf *out);
/* What that wrote; 0 bytes: it did not come to its end. */
void identity_keep(const char *user, const char *answer, size_t n);

/* uid BY_NAME (order.h): uid and gid are those of this host for that name. -EPERM with the reason if that user can't have jobs here, or is not known. The result is valid until the next identity_keep(). */
int identity_get(uid_t uid, gid_t gid, const char *user, bool root_jobs, struct identity *ret, struct err *err);
/* Root's supplementary groups become the user's, once; files are touched by rights.h. */
int identity_groups(const struct identity *who);
/* For ever: real, effective and saved. 0 or -errno. */
int identity_become(const struct identity *who);

#endif
