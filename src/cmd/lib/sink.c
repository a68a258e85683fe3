/*
 * sink.c - writes to a descriptor that other processes share.
 */
#include "cmd/lib/sink.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

static void sink_clear(struct sink *s)
{
	strbuf_clear(&s->text);
	s->sent = 0;
}

/* A pipe that polls as writable accepts PIPE_BUF bytes. */
static int push(struct sink *s, int timeout)
{
	struct pollfd p = {.fd = s->fd, .events = POLLOUT};

	while (sink_waits(s)) {
		int ready = poll(&p, 1, timeout);
		if (ready == 0)
			return 0;
		size_t n = s->text.n - s->sent;
		ssize_t wrote = ready < 0 ? -1 : write(s->fd, s->text.text + s->sent, n < PIPE_BUF ? n : PIPE_BUF);
		if (wrote < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (wrote < 0) {
			int code = -errno;
			sink_clear(s);
			return code;
		}
		s->sent += (size_t)wrote;
	}
	sink_clear(s);
	return 0;
}

int sink_push(struct sink *s)
{
	return push(s, 0);
}

int sink_flush(struct sink *s)
{
	return push(s, -1);
}

void sink_fini(struct sink *s)
{
	strbuf_fini(&s->text);
	s->sent = 0;
}
