/*
 * terminals.c - the socket for terminals of this host's jobs.
 *
 * The first line names the attempt. It is accepted if the peer is the very process that the
 * attempt's live file names as its shepherd: a user's own processes can't be that, whatever they
 * know.
 */
#include "engine/terminals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unixsock.h"
#include "base/vec.h"
#include "engine/watch.h"
#include "run/nursery.h"

#define LINE 64
#define NEWCOMERS 256 /* maximum connections that have not identified themselves */

struct newcomer {
	struct terminals *t;
	struct watch *watch;
};

struct terminals {
	uv_loop_t *loop;
	struct watch *socket;
	char *path, *live;
	void (*came)(void *context, const char *tag, int fd);
	void *context;
	VEC(struct newcomer *) newcomers;
};

static void newcomer_drop(struct newcomer *c)
{
	struct terminals *t = c->t;

	for (size_t i = 0; i < t->newcomers.n; i++)
		if (t->newcomers.v[i] == c) {
			vec_remove(&t->newcomers, i);
			break;
		}
	watch_close(c->watch);
	free(c);
}

static bool is_shepherd(const struct terminals *t, int fd, const char *tag)
{
	struct arena *a = arena_create();
	struct result r;
	struct ucred who;
	socklen_t n = sizeof who;
	pid_t pid = 0;
	bool is = *tag && *tag != '.' && !strchr(tag, '/') && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 &&
		  live_look(t->live, tag, a, &r, &pid) == LIVE_RUNNING && pid > 0 && pid == who.pid;

	arena_destroy(a);
	return is;
}

/* Reads exactly the line: the rest is for the receiver of the terminal. Returns 0 if it is
 * incomplete, -EINVAL if there is none. */
static int line_read(int fd, char line[LINE])
{
	ssize_t n = recv(fd, line, LINE, MSG_PEEK | MSG_DONTWAIT);
	char *end = n > 0 ? memchr(line, '\n', (size_t)n) : NULL;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (!end)
		return n > 0 && n < LINE ? 0 : -EINVAL;
	n = recv(fd, line, (size_t)(end - line) + 1, MSG_DONTWAIT);
	*end = '\0';
	return n == end - line + 1 ? 1 : -EINVAL;
}

static void on_newcomer(void *context, int events)
{
	struct newcomer *c = context;
	struct terminals *t = c->t;
	char line[LINE];
	int rc = line_read(watch_fd(c->watch), line), fd = -1;

	if (rc == 0)
		return;
	if (rc > 0 && is_shepherd(t, watch_fd(c->watch), line))
		fd = fcntl(watch_fd(c->watch), F_DUPFD_CLOEXEC, 0);
	newcomer_drop(c);
	if (fd >= 0)
		t->came(t->context, line, fd);
}

static void on_call(void *context, int events)
{
	struct terminals *t = context;
	struct newcomer *c;
	int fd = accept4(watch_fd(t->socket), NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (t->newcomers.n >= NEWCOMERS)
		newcomer_drop(t->newcomers.v[0]);
	c = mem_zalloc(sizeof *c);
	c->t = t;
	c->watch = watch_open(t->loop, fd, on_newcomer, c);
	vec_push(&t->newcomers, c);
	watch_for(c->watch, UV_READABLE);
}

int terminals_open(uv_loop_t *loop, const char *path, const char *live,
		   void (*came)(void *context, const char *tag, int fd), void *context, struct terminals **ret,
		   struct err *err)
{
	/* shepherds are root, or run under our own account */
	int fd = unix_listen(path, 0600, err);
	struct terminals *t;

	if (fd < 0)
		return fd;
	t = mem_zalloc(sizeof *t);
	*t = (struct terminals){.loop = loop, .came = came, .context = context};
	t->path = mem_strdup(path);
	t->live = mem_strdup(live);
	t->socket = watch_open(loop, fd, on_call, t);
	watch_for(t->socket, UV_READABLE);
	*ret = t;
	return 0;
}

void terminals_close(struct terminals *t)
{
	if (!t)
		return;
	while (t->newcomers.n)
		newcomer_drop(t->newcomers.v[0]);
	vec_free(&t->newcomers);
	watch_close(t->socket);
	unlink(t->path);
	free(t->path);
	free(t->live);
	free(t);
}
