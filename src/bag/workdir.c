/*
 * workdir.c - directories that are locked while they are in use.
 */
#include "bag/workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bag/files.h"

/* Opens the lock of a directory that is ours; returns -1 if it is not ours, or has no lock. */
static int lock_open(const char *dir)
{
	int at = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), fd = -1;
	struct stat st;

	if (at >= 0 && fstat(at, &st) == 0 && st.st_uid == geteuid())
		fd = openat(at, "lock", O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (at >= 0)
		close(at);
	return fd;
}

static void sweep(const char *tmp, const char *prefix)
{
	size_t n = strlen(prefix);
	DIR *d = opendir(tmp);

	for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
		struct strbuf path = {0};
		if (strncmp(e->d_name, prefix, n) != 0 || e->d_name[n] != '-' || strlen(e->d_name) != n + 7)
			continue;
		strbuf_printf(&path, "%s/%s", tmp, e->d_name);
		int fd = lock_open(path.text);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			files_remove(path.text);
		if (fd >= 0)
			close(fd);
		strbuf_fini(&path);
	}
	if (d)
		closedir(d);
}

/* Creates the lock so that it is held before it can be found. */
static int lock_make(const char *dir)
{
	struct strbuf made = {0}, lock = {0};

	strbuf_printf(&made, "%s/lock.new", dir);
	strbuf_printf(&lock, "%s/lock", dir);
	int fd = open(made.text, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc = fd < 0 || flock(fd, LOCK_EX) < 0 || rename(made.text, lock.text) < 0 ? -errno : 0;
	strbuf_fini(&made);
	strbuf_fini(&lock);
	return rc; /* the file stays open, and locked, while this process or a forked child lives */
}

int workdir_make(const char *prefix, struct strbuf *ret, struct err *err)
{
	const char *tmp = getenv("TMPDIR");

	tmp = tmp && *tmp == '/' ? tmp : "/tmp";
	sweep(tmp, prefix);
	strbuf_printf(ret, "%s/%s-XXXXXX", tmp, prefix);
	int rc = mkdtemp(ret->text) ? lock_make(ret->text) : -errno;
	if (rc < 0)
		return err_set(err, rc, "%s: %s", ret->text, strerror(-rc));
	return 0;
}
