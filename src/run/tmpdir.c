/*
 * tmpdir.c - a job's own directory for temporary files: made with the rights of the server's
 * account (root, on an agent's host), given to the user, and emptied with the user's rights, so
 * that no link can mislead us.
 *
 * Only a directory that we have just made is given away. An existing one is used only if it is
 * already the user's, and only the user's own is removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/rights.h"
#include "run/room.h"

/* ---- making it ---- */

static int directory_make(const char *path, const struct identity *server)
{
	rights_begin(server);
	int r = mkdir(path, 0700) ? -errno : 0;
	/* An empty directory of the server's account is from an attempt that was killed before it
	 * gave it away. Root owns others as well. */
	if (r == -EEXIST && server->change && rmdir(path) == 0)
		r = mkdir(path, 0700) ? -errno : 0;
	rights_end(server);
	return r;
}

static int directory_give(const char *path, const struct identity *who, bool made)
{
	/* an existing one must be the user's own */
	const struct identity *opener = made ? who->server : who;
	int fd = rights_open(opener, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0), r = fd;
	struct stat st;

	if (fd < 0)
		return fd;
	if (made)
		r = rights_give(who, fd, 0700);
	else
		r = fstat(fd, &st) ? -errno : st.st_uid != who->uid ? -EPERM : 0;
	close(fd);
	return r;
}

int tmpdir_make(const struct order *o, const struct identity *who, struct err *err)
{
	int r = directory_make(o->tmpdir, who->server);

	if (!r || r == -EEXIST)
		r = directory_give(o->tmpdir, who, !r);
	return r ? err_set(err, r, "the directory for temporary files %s can't be made for user %s: %s", o->tmpdir,
			   o->user, strerror(-r))
		 : 0;
}

/* ---- removing it ---- */

struct clearing {
	int top;
	unsigned moved;
	bool progress;
};

/* Opens a directory even if the user has removed his own permissions. */
static int directory_open(int at, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(at, name, flags);

	if (fd < 0 && errno == EACCES && !fchmodat(at, name, 0700, 0))
		fd = openat(at, name, flags);
	if (fd >= 0)
		fchmod(fd, 0700);
	return fd;
}

static bool entry_remove(struct clearing *c, int dir, const char *name)
{
	bool gone = !unlinkat(dir, name, 0) || !unlinkat(dir, name, AT_REMOVEDIR);

	c->progress = c->progress || gone;
	return gone;
}

/* Deletes the files and moves the directories up to the top: so a tree of any depth needs two
 * descriptors and no memory. */
static void directory_empty(struct clearing *c, int fd)
{
	DIR *d = fdopendir(fd);
	char up[32];

	if (!d) {
		close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(d));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (entry_remove(c, dirfd(d), e->d_name))
			continue;
		/* without write permission a directory can't be moved */
		int child = directory_open(dirfd(d), e->d_name);
		if (child < 0)
			continue;
		close(child);
		snprintf(up, sizeof up, ".up.%u", c->moved++);
		if (!renameat(dirfd(d), e->d_name, c->top, up))
			c->progress = true;
	}
	closedir(d);
}

/* Repeats until a pass changes nothing: then it is empty, or the rest can't be removed. */
static void top_empty(struct clearing *c)
{
	int list = openat(c->top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = list < 0 ? NULL : fdopendir(list);

	do {
		c->progress = false;
		if (d)
			rewinddir(d);
		for (struct dirent *e; d && (e = readdir(d));) {
			if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
				continue;
			int fd = entry_remove(c, c->top, e->d_name) ? -1 : directory_open(c->top, e->d_name);
			if (fd < 0)
				continue;
			directory_empty(c, fd);
			entry_remove(c, c->top, e->d_name);
		}
	} while (c->progress);
	if (d)
		closedir(d);
}

void tmpdir_clear(int at, const char *name, const struct identity *who)
{
	struct clearing c = {0};
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode) || st.st_uid != who->uid)
		return;
	rights_begin(who);
	c.top = directory_open(at, name);
	if (c.top >= 0) {
		top_empty(&c);
		close(c.top);
	}
	rights_end(who);
	rights_begin(who->server);
	unlinkat(at, name, AT_REMOVEDIR);
	rights_end(who->server);
}
