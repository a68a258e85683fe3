/*
 * views.c - the queue as the server last described it, for users of this host to read while the
 * server is down (client/offline.h).
 *
 *	STATE/offline/views/all		all jobs, where users may see each other's
 *	STATE/offline/views/NAME	one user's jobs. No one can list the directory; only the
 *					server and the user can compute the name, by the
 *					login token
 *
 * The server sends views in pieces; an incomplete one is not visible.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "base/fdio.h"
#include "base/file.h"
#include "client/tray.h"

#define NAME_MOST 64
#define KEPT (31 * 86400) /* seconds; longer than most login tokens live */

struct views {
	char dir[PATH_MAX];
	char name[NAME_MOST]; /* name of the view being received */
	int fd;		      /* -1: none is being received */
	int64_t size, at;
};

static bool name_is_right(const char *name)
{
	size_t n = strlen(name);

	return n > 2 && n < NAME_MOST &&
	       strspn(name, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == n;
}

static void path_of(const struct views *v, const char *name, char ret[PATH_MAX + NAME_MOST + 8])
{
	snprintf(ret, PATH_MAX + NAME_MOST + 8, "%s/%s", v->dir, name);
}

/* Ends the view being received, if any; with rc 0 it is complete. It is not synced: after a power
 * failure only a snapshot of the queue is lost. */
static void view_end(struct views *v, int rc)
{
	char path[PATH_MAX + NAME_MOST + 8];

	if (v->fd < 0)
		return;
	path_of(v, v->name, path);
	replacement_close(v->fd, path, rc, 0);
	v->fd = -1;
}

static void view_begin(struct views *v, const char *name, int64_t size)
{
	char path[PATH_MAX + NAME_MOST + 8];

	view_end(v, -ECANCELED);
	snprintf(v->name, sizeof v->name, "%s", name);
	v->size = size;
	v->at = 0;
	path_of(v, name, path);
	if (size)
		v->fd = replacement_open(path, 0644, 0);
	else
		unlink(path);
}

void views_frame(struct agent *a, const json_t *head, const char *data, size_t n)
{
	struct views *v = a->views;
	struct spool_frame x;

	spool_frame_read(head, &x);
	if (!x.name || !name_is_right(x.name) || x.size < 0)
		return;
	if (x.at == 0)
		view_begin(v, x.name, x.size);
	if (v->fd < 0 || strcmp(x.name, v->name) != 0 || x.at != v->at || v->at + (int64_t)n > v->size)
		return;
	int rc = fd_write(v->fd, data, n);
	v->at += (int64_t)n;
	if (rc < 0 || v->at == v->size)
		view_end(v, rc);
}

/* Removes views of users who have not been here for long: older than KEPT both now and when the
 * newest view was written. The wall clock alone may be ahead, and while the server is down these
 * files are all that users see of the queue. */
static void views_sweep(const struct views *v)
{
	DIR *dir = opendir(v->dir);
	const struct dirent *d;
	struct stat st;
	time_t newest = 0, now = time(NULL);

	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.' && fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_mtime > newest)
			newest = st.st_mtime;
	if (dir)
		rewinddir(dir);
	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.' && fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_mtime < (newest < now ? newest : now) - KEPT)
			unlinkat(dirfd(dir), d->d_name, 0);
	if (dir)
		closedir(dir);
}

bool views_has(const struct agent *a, const char *name)
{
	char path[PATH_MAX + NAME_MOST + 8];
	struct stat st;

	if (!name_is_right(name))
		return false;
	path_of(a->views, name, path);
	return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

int views_read(const struct agent *a, const char *name, struct strbuf *ret)
{
	char path[PATH_MAX + NAME_MOST + 8];

	path_of(a->views, name, path);
	return name_is_right(name) ? file_read(path, O_NOFOLLOW, SIZE_MAX, ret) : -ENOENT;
}

void views_start(struct agent *a)
{
	struct views *v = mem_zalloc(sizeof *v);

	a->views = v;
	v->fd = -1;
	snprintf(v->dir, sizeof v->dir, "%.*s/offline/views", PATH_MAX - 16, a->home.state);
	views_sweep(v);
}

void views_stop(struct agent *a)
{
	if (!a->views)
		return;
	view_end(a->views, -ECANCELED);
	free(a->views);
	a->views = NULL;
}
