/*
 * fdio.c - see fdio.h.
 */
#include "base/fdio.h"

#include <errno.h>
#include <unistd.h>

#include "base/strbuf.h"

int fd_write(int fd, const void *data, size_t n)
{
	for (const char *p = data, *end = p + n; p < end;) {
		ssize_t took = write(fd, p, (size_t)(end - p));
		if (took < 0 && errno == EINTR)
			continue;
		if (took == 0)
			errno = ENOSPC; /* callers that report errno find the reason */
		if (took <= 0)
			return -errno;
		p += took;
	}
	return 0;
}

int fd_read(int fd, size_t most, struct strbuf *out)
{
	char part[16384];
	size_t left = most;
	ssize_t n;

	while ((n = read(fd, part, sizeof part)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		strbuf_add(out, part, (size_t)n < left ? (size_t)n : left);
		if ((size_t)n > left)
			return -EFBIG;
		left -= (size_t)n;
	}
	return 0;
}
