/*
 * rights.c - root accesses files for a user, with the user's rights.
 */
#include "run/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define QUIET (O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
#define PTS_FIRST 136 /* device numbers of pseudo terminals */
#define PTS_LAST 143

void rights_begin(const struct identity *who)
{
	if (!who->change)
		return;
	setfsgid(who->gid);
	setfsuid(who->uid);
	/* These calls don't report failure; they return the value set before. */
	if ((uid_t)setfsuid((uid_t)-1) != who->uid || (gid_t)setfsgid((gid_t)-1) != who->gid)
		abort();
}

void rights_end(const struct identity *who)
{
	if (!who->change)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
}

int rights_open(const struct identity *who, const char *path, int flags, mode_t mode)
{
	rights_begin(who);
	int fd = open(path, flags | QUIET, mode);
	int r = fd < 0 ? -errno : fd;
	rights_end(who);
	return r;
}

int rights_stat(const struct identity *who, const char *path, struct stat *ret)
{
	rights_begin(who);
	int r = stat(path, ret) ? -errno : 0;
	rights_end(who);
	return r;
}

/* An owner without read permission can grant it to himself, so we do that on his behalf. */
int rights_reopen(const struct identity *who, int fd, int flags)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	rights_begin(who);
	int to = open(path, flags | QUIET);
	if (to < 0 && errno == EACCES && fstat(fd, &st) == 0 && st.st_uid == who->uid &&
	    fchmod(fd, (st.st_mode & 07777) | 0600) == 0) {
		to = open(path, flags | QUIET);
		fchmod(fd, st.st_mode & 07777);
	}
	int r = to < 0 ? -errno : to;
	rights_end(who);
	return r;
}

static bool is_terminal(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && major(st->st_rdev) >= PTS_FIRST && major(st->st_rdev) <= PTS_LAST;
}

int rights_give(const struct identity *who, int fd, mode_t mode)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_uid == who->uid || !who->change)
		return 0;
	if (st.st_uid != who->server->uid && !(is_terminal(&st) && st.st_uid == geteuid()))
		return -EPERM;
	if (S_ISREG(st.st_mode) ? st.st_nlink != 1 : !S_ISDIR(st.st_mode) && !is_terminal(&st))
		return -EPERM;
	return fchown(fd, who->uid, is_terminal(&st) ? (gid_t)-1 : who->gid) || fchmod(fd, mode) ? -errno : 0;
}
