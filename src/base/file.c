/*
 * file.c - see file.h.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fdio.h"

#define FRESH_MAX (PATH_MAX + 32)

int file_read(const char *path, int flags, size_t most, struct strbuf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | flags), rc = fd < 0 ? -errno : fd_read(fd, most, out);

	if (fd >= 0)
		close(fd);
	return rc;
}

/* Returns the length of the directory's part of a path, with its slash. */
static int directory_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash - path) + 1 : 0;
}

/* Without REPLACE_SHARED the name is always the same, so that a killed process leaves at most one
 * such file behind. */
static void fresh_path(const char *path, unsigned flags, char fresh[FRESH_MAX])
{
	if (flags & REPLACE_SHARED)
		snprintf(fresh, FRESH_MAX, "%.*s.new-%d", directory_length(path), path, (int)getpid());
	else
		snprintf(fresh, FRESH_MAX, "%s.new", path);
}

static int directory_sync(const char *path)
{
	char directory[PATH_MAX];

	snprintf(directory, sizeof directory, "%.*s.", directory_length(path), path);
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = fd < 0 || fsync(fd) < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return rc;
}

int replacement_open(const char *path, mode_t mode, unsigned flags)
{
	char fresh[FRESH_MAX];

	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	fresh_path(path, flags, fresh);
	unlink(fresh);
	int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	return fd < 0 ? -errno : fd;
}

int replacement_close(int fd, const char *path, int rc, unsigned flags)
{
	char fresh[FRESH_MAX];

	fresh_path(path, flags, fresh);
	if (rc == 0 && flags & REPLACE_SYNC && fsync(fd) < 0)
		rc = -errno;
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(fresh, path) < 0)
		rc = -errno;
	if (rc < 0)
		unlink(fresh);
	return rc == 0 && flags & REPLACE_SYNC ? directory_sync(path) : rc;
}

int file_replace(const char *path, mode_t mode, const void *data, size_t n, unsigned flags)
{
	int fd = replacement_open(path, mode, flags);

	return fd < 0 ? fd : replacement_close(fd, path, fd_write(fd, data, n), flags);
}
