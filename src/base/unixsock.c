/*
 * unixsock.c - UNIX sockets at paths of any length.
 */
#include "base/unixsock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define TAKEN_WAIT_MS 2000 /* for a socket whose owner may be about to exit */
#define TAKEN_TRIES 10

/* An address, and the directory that must stay open while it is in use (-1: none). */
struct place {
	struct sockaddr_un address;
	int directory;
};

static int directory_open(const char *path, const char *slash)
{
	char directory[4096];
	int n = (int)(slash - path);

	if (n == 0)
		return open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (snprintf(directory, sizeof directory, "%.*s", n, path) >= (int)sizeof directory)
		return errno = ENAMETOOLONG, -1;
	return open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int place_find(const char *path, struct place *ret, struct err *err)
{
	size_t room = sizeof ret->address.sun_path, n = strlen(path);
	const char *slash = strrchr(path, '/');

	*ret = (struct place){.address.sun_family = AF_UNIX, .directory = -1};
	if (n == 0)
		return err_set(err, -EINVAL, "a socket needs a path");
	if (n < room) {
		memcpy(ret->address.sun_path, path, n);
		return 0;
	}
	if (!slash)
		return err_set(err, -ENAMETOOLONG, "%.300s: the name of a socket has at most %zu bytes", path,
			       room - 1);
	ret->directory = directory_open(path, slash);
	if (ret->directory < 0)
		return err_set(err, -errno, "%.300s: %s", path, strerror(errno));
	if (snprintf(ret->address.sun_path, room, "/proc/self/fd/%d/%s", ret->directory, slash + 1) < (int)room)
		return 0;
	close(ret->directory);
	return err_set(err, -ENAMETOOLONG, "%.300s: the name of the socket is too long", path);
}

static void place_leave(struct place *p)
{
	if (p->directory >= 0)
		close(p->directory);
}

/* Returns true if somebody answers there, or may: only a refusal means an abandoned file. */
static bool place_answers(const struct place *p, int type)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc = connect(fd, (const struct sockaddr *)&p->address, sizeof p->address), cause = errno;

	if (fd >= 0)
		close(fd);
	return rc == 0 || cause != ECONNREFUSED;
}

/* Returns true if somebody still answers after a wait. A child that a killed process had just
 * forked keeps its sockets until it executes its program or exits. */
static bool place_is_taken(const struct place *p, int type)
{
	const struct timespec pause = {.tv_nsec = TAKEN_WAIT_MS * 1000000L / TAKEN_TRIES};

	for (int i = 0; i < TAKEN_TRIES; i++) {
		if (!place_answers(p, type))
			return false;
		nanosleep(&pause, NULL);
	}
	return place_answers(p, type);
}

static int place_bind(const struct place *p, const char *path, int type, int fd, struct err *err)
{
	const struct sockaddr *address = (const struct sockaddr *)&p->address;
	struct stat st;

	if (bind(fd, address, sizeof p->address) == 0)
		return 0;
	if (errno != EADDRINUSE)
		return err_set(err, -errno, "%.300s: can't create the socket: %s", path, strerror(errno));
	if (lstat(p->address.sun_path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return err_set(err, -EADDRINUSE, "%.300s: a file of that name exists and is not a socket: remove it",
			       path);
	if (place_is_taken(p, type))
		return err_set(err, -EADDRINUSE, "%.300s: somebody already listens there", path);
	if ((unlink(p->address.sun_path) < 0 && errno != ENOENT) || bind(fd, address, sizeof p->address) < 0)
		return err_set(err, -errno, "%.300s: can't replace the abandoned socket: %s", path, strerror(errno));
	return 0;
}

static int bind_at(const char *path, int mode, int type, struct err *err)
{
	struct place p;
	int rc = place_find(path, &p, err);

	if (rc < 0)
		return rc;
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	/* The file gets the descriptor's mode, less the umask, so that it is never wider than
	 * `mode`, not even for a moment. */
	if (fd < 0 || fchmod(fd, (mode_t)mode) < 0)
		rc = err_set(err, -errno, "%.300s: %s", path, strerror(errno));
	else if ((rc = place_bind(&p, path, type, fd, err)) == 0)
		if (chmod(p.address.sun_path, (mode_t)mode) < 0 || (type == SOCK_STREAM && listen(fd, SOMAXCONN) < 0))
			rc = err_set(err, -errno, "%.300s: %s", path, strerror(errno));
	place_leave(&p);
	if (rc < 0 && fd >= 0)
		close(fd);
	return rc < 0 ? rc : fd;
}

int unix_listen(const char *path, int mode, struct err *err)
{
	return bind_at(path, mode, SOCK_STREAM, err);
}

int unix_bind_datagram(const char *path, int mode, struct err *err)
{
	return bind_at(path, mode, SOCK_DGRAM, err);
}

int unix_connect(const char *path, int timeout_ms, struct err *err)
{
	struct timeval limit = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
	struct place p;
	int rc = place_find(path, &p, err);

	if (rc < 0)
		return rc;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && timeout_ms > 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	while (fd >= 0 && (rc = connect(fd, (const struct sockaddr *)&p.address, sizeof p.address)) < 0 &&
	       errno == EINTR)
		;
	if (fd < 0 || rc < 0)
		rc = err_set(err, -errno, "%.300s: can't connect: %s", path, strerror(errno));
	place_leave(&p);
	if (rc < 0 && fd >= 0)
		close(fd);
	return rc < 0 ? rc : fd;
}

/* Memory for the descriptors of a message. */
union control {
	char buf[CMSG_SPACE(UNIX_FDS_MOST * sizeof(int))];
	struct cmsghdr align;
};

ssize_t unix_send(int fd, struct iovec *parts, size_t n, const int *fds, size_t nfds, int flags)
{
	union control control = {{0}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = n};

	assert(nfds <= UNIX_FDS_MOST);
	if (nfds) {
		m.msg_control = control.buf;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof *fds);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof *fds);
		memcpy(CMSG_DATA(c), fds, nfds * sizeof *fds);
	}
	return sendmsg(fd, &m, flags | MSG_NOSIGNAL);
}

ssize_t unix_receive(int fd, void *buf, size_t size, int *fds, size_t most, size_t *ret_nfds, int flags)
{
	union control control;
	struct iovec part = {buf, size};
	struct msghdr m = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.buf, .msg_controllen = sizeof control.buf};
	ssize_t n = recvmsg(fd, &m, flags | MSG_CMSG_CLOEXEC);

	*ret_nfds = 0;
	for (struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(&m) : NULL; c; c = CMSG_NXTHDR(&m, c)) {
		size_t came = (c->cmsg_len - CMSG_LEN(0)) / sizeof *fds;
		for (size_t i = 0; c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && i < came; i++) {
			int one;
			memcpy(&one, CMSG_DATA(c) + i * sizeof one, sizeof one);
			if (*ret_nfds < most)
				fds[(*ret_nfds)++] = one;
			else
				close(one);
		}
	}
	return n;
}
