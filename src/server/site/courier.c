/*
 * courier.c - see courier.h.
 */
#include "server/site/courier.h"

#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "base/program.h"
#include "net/handle.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/server.h"
#include "server/site/realm.h"

#define PAUSE 2 /* seconds between two starts */

/* A courier or keeper; owned by the realm from its first use. */
struct courier {
	struct server *s;
	const char *command, *what; /* subcommand of `shunt`; description for messages */
	pid_t pid;		    /* 0: not running */
	uv_pipe_t *pipe;
	int64_t again; /* instant before which it is not started */
	char buf[16];
};

static void courier_gone(struct courier *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0); /* it has ended or was killed, so this does not block */
	c->pid = 0;
	c->again = c->s->clock->now + PAUSE;
	uv_close((uv_handle_t *)c->pipe, handle_free);
	c->pipe = NULL;
}

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *ret)
{
	struct courier *c = handle->data;

	*ret = uv_buf_init(c->buf, sizeof c->buf);
}

/* Handles the end of the process, which never writes anything. */
static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct courier *c = stream->data;

	if (n < 0 && c->pid)
		courier_gone(c);
}

void shunt_beside(const struct server *s, char *ret, size_t size)
{
	const char *slash = strrchr(s->instance->rsh, '/');

	snprintf(ret, size, "%.*s/shunt", slash ? (int)(slash - s->instance->rsh) : 0, s->instance->rsh);
}

static int process_start(const struct server *s, const char *command, int fd, pid_t *ret)
{
	char path[PATH_MAX], socket[PATH_MAX + 32];
	char *argv[] = {"shunt", (char *)command, socket, NULL};

	shunt_beside(s, path, sizeof path);
	snprintf(socket, sizeof socket, "%s/shuntd.sock", s->instance->where.run);
	return program_start(path, argv, NULL, (int[]){fd, PROGRAM_NULL, PROGRAM_SHARE}, 3, PROGRAM_GROUP, ret);
}

static void courier_start(struct courier *c)
{
	int fds[2], rc;

	c->again = c->s->clock->now + PAUSE;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return;
	rc = process_start(c->s, c->command, fds[1], &c->pid);
	close(fds[1]);
	if (rc < 0) {
		c->pid = 0;
		close(fds[0]);
		server_log(c->s, SEVERITY_ERROR, "%s can't be started: %s", c->what, strerror(-rc));
		c->again = c->s->clock->now + 60;
		return;
	}
	c->pipe = mem_zalloc(sizeof *c->pipe);
	uv_pipe_init(c->s->loop, c->pipe, 0);
	uv_pipe_open(c->pipe, fds[0]);
	c->pipe->data = c;
	uv_read_start((uv_stream_t *)c->pipe, on_room, on_read);
	uv_unref((uv_handle_t *)c->pipe);
}

static void turn(struct server *s, struct courier **at, const char *command, const char *what, bool work)
{
	struct courier *c = *at;

	if (!work)
		return;
	if (!c) {
		c = *at = mem_zalloc(sizeof *c);
		*c = (struct courier){.s = s, .command = command, .what = what};
	}
	if (!c->pid && s->clock->now >= c->again)
		courier_start(c);
}

void courier_turn(struct server *s, bool work)
{
	turn(s, &s->realm->courier, "courier", "the process that talks to other sites", work);
}

void keeper_turn(struct server *s, bool work)
{
	turn(s, &s->realm->keeper, "keeper", "the process that requests nodes from other clusters", work);
}

void courier_end(struct server *s)
{
	struct courier *both[] = {s->realm->courier, s->realm->keeper};

	for (int i = 0; i < 2; i++)
		if (both[i] && both[i]->pid)
			courier_gone(both[i]);
}
