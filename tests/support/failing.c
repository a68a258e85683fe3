/* failing.c - see failing.h. */
#include "support/failing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

static struct {
	bool on, halved;
	int at, error, n;
	const char *failed;
	char calls[4096];
} now;

void failing_begin(int at, int error, bool halved)
{
	now.on = true;
	now.halved = halved;
	now.at = at;
	now.error = error;
	now.n = 0;
	now.failed = NULL;
	now.calls[0] = '\0';
}

const char *failing_end(void)
{
	now.on = false;
	return now.failed;
}

const char *failing_calls(void)
{
	return now.calls;
}

/* Returns true if this call is to fail. */
static bool fails(const char *name)
{
	size_t n = strlen(now.calls);

	if (!now.on)
		return false;
	snprintf(now.calls + n, sizeof now.calls - n, "%s ", name);
	if (++now.n != now.at)
		return false;
	now.failed = name;
	errno = now.error;
	return true;
}

#define PLAIN(name, parameters, arguments)                                                                             \
	int __real_##name parameters;                                                                                  \
	int __wrap_##name parameters;                                                                                  \
	int __wrap_##name parameters                                                                                   \
	{                                                                                                              \
		return fails(#name) ? -1 : __real_##name arguments;                                                    \
	}
PLAIN(fsync, (int fd), (fd))
PLAIN(fdatasync, (int fd), (fd))
PLAIN(rename, (const char *from, const char *to), (from, to))
PLAIN(renameat2, (int from, const char *old, int to, const char *new, unsigned flags), (from, old, to, new, flags))
PLAIN(ftruncate64, (int fd, off_t n), (fd, n))
PLAIN(flock, (int fd, int how), (fd, how))
PLAIN(link, (const char *from, const char *to), (from, to))
PLAIN(mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode))
PLAIN(renameat, (int from, const char *old, int to, const char *new), (from, old, to, new))

ssize_t __real_sendfile64(int to, int from, off_t *at, size_t n);
ssize_t __wrap_sendfile64(int to, int from, off_t *at, size_t n);
ssize_t __wrap_sendfile64(int to, int from, off_t *at, size_t n)
{
	return fails("sendfile64") ? -1 : __real_sendfile64(to, from, at, n);
}

/* A call that writes half of its bytes fails only if there are at least two. */
#define WRITE(name, parameters, arguments, half)                                                                       \
	ssize_t __real_##name parameters;                                                                              \
	ssize_t __wrap_##name parameters;                                                                              \
	ssize_t __wrap_##name parameters                                                                               \
	{                                                                                                              \
		if (!fails(#name))                                                                                     \
			return __real_##name arguments;                                                                \
		return now.halved ? __real_##name half : -1;                                                           \
	}
WRITE(write, (int fd, const void *data, size_t n), (fd, data, n), (fd, data, (n + 1) / 2))
WRITE(pwrite64, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at), (fd, data, (n + 1) / 2, at))
WRITE(pwritev64, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at),
      (fd, &(struct iovec){v->iov_base, v->iov_len / 2}, 1, at))

#define OPEN(name, first, second)                                                                                      \
	int __real_##name first;                                                                                       \
	int __wrap_##name first;                                                                                       \
	int __wrap_##name first                                                                                        \
	{                                                                                                              \
		va_list ap;                                                                                            \
		va_start(ap, flags);                                                                                   \
		int mode = flags & O_CREAT ? va_arg(ap, int) : 0;                                                      \
		va_end(ap);                                                                                            \
		return fails(#name) ? -1 : __real_##name second;                                                       \
	}
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat64, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))
