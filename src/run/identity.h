/*
 * identity.h - as whom a job runs, and whether this nursery may let it.
 */
#ifndef RUN_IDENTITY_H
#define RUN_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct identity {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int ngroups;
	bool change; /* else it is already what this process is */
	const struct identity
		*server; /* what is made for a job in the server's directories is made with its account's rights */
};

/* -EPERM with the reason if that user can't have jobs here. What root looked up is kept for a minute; the result is valid until
 * the next call. */
int identity_get(uid_t uid, gid_t gid, const char *user, bool root_jobs, struct identity *ret, struct err *err);
/* Root's supplementary groups become the user's, once; files are touched by rights.h. */
int identity_groups(const struct identity *who);
/* For ever: real, effective and saved. 0 or -errno. */
int identity_become(const struct identity *who);

#endif
