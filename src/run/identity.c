/*
 * identity.c - users and groups.
 *
 * The nursery of a system is root and trusts its server with users' jobs, but not with root itself, and not with a uid under another
 * user's name. Looking users up may ask a directory over the network, so it is done once a minute for each user.
 */
#include "run/identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

#define KEPT 64	    /* users */
#define KEPT_FOR 60 /* seconds */
#define GROUPS_MAX 65536

struct known {
	char *user;
	uid_t uid;
	gid_t gid; /* the first group, as the user database has it */
	gid_t *groups;
	int ngroups;
	time_t since;
};

static struct known known[KEPT];

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec;
}

static int known_fill(struct known *k, const char *user, struct err *err)
{
	struct passwd *pw = getpwnam(user);

	if (!pw)
		return err_set(err, -EPERM, "the user %s is not known on this host", user);
	*k = (struct known){.uid = pw->pw_uid, .gid = pw->pw_gid, .since = now(), .ngroups = 64};
	for (;;) {
		int room = k->ngroups;
		k->groups = mem_realloc(k->groups, (size_t)room, sizeof *k->groups);
		if (getgrouplist(user, k->gid, k->groups, &k->ngroups) >= 0)
			break;
		if (k->ngroups <= room) /* some libraries do not say how many */
			k->ngroups = room * 2;
		if (k->ngroups > GROUPS_MAX)
			return err_set(err, -EPERM, "the user %s is in too many groups", user);
	}
	k->user = mem_strdup(user);
	return 0;
}

/* The place of a user, by its name's hash: another user with the same place is forgotten. */
static struct known *known_get(const char *user, struct err *err)
{
	size_t place = 0;

	for (const char *p = user; *p; p++)
		place = place * 31 + (unsigned char)*p;
	struct known *k = &known[place % KEPT];
	if (k->user && !strcmp(k->user, user) && now() - k->since < KEPT_FOR)
		return k;
	free(k->user);
	free(k->groups);
	*k = (struct known){0};
	if (known_fill(k, user, err)) {
		free(k->groups);
		*k = (struct known){0};
		return NULL;
	}
	return k;
}

static bool is_member(const struct known *k, gid_t gid)
{
	for (int i = 0; i < k->ngroups; i++)
		if (k->groups[i] == gid)
			return true;
	return k->gid == gid;
}

int identity_get(uid_t uid, gid_t gid, const char *user, bool root_jobs, struct identity *ret, struct err *err)
{
	if (geteuid() != 0) {
		if (uid != geteuid())
			return err_set(err, -EPERM,
				       "jobs of user %s (uid %u) can't run here: this server is not root, "
				       "and runs those of uid %u only",
				       user, (unsigned)uid, (unsigned)geteuid());
		*ret = (struct identity){.uid = uid, .gid = getegid()};
		return 0;
	}
	if (uid == 0 && !root_jobs)
		return err_set(err, -EPERM, "root may not have jobs here (the server's attribute root_jobs allows it)");

	struct known *k = known_get(user, err);
	if (!k)
		return -EPERM;
	if (k->uid != uid)
		return err_set(err, -EPERM, "the user %s has uid %u on this host, not %u", user, (unsigned)k->uid,
			       (unsigned)uid);
	if (!is_member(k, gid))
		return err_set(err, -EPERM, "the user %s is not in the group %u on this host", user, (unsigned)gid);
	*ret = (struct identity){.uid = uid, .gid = gid, .groups = k->groups, .ngroups = k->ngroups, .change = true};
	return 0;
}

int identity_groups(const struct identity *who)
{
	if (who->change && setgroups((size_t)who->ngroups, who->groups))
		return -errno;
	return 0;
}

int identity_become(const struct identity *who)
{
	if (!who->change)
		return 0;
	if (setresgid(who->gid, who->gid, who->gid) || setresuid(who->uid, who->uid, who->uid))
		return -errno;
	return 0;
}
