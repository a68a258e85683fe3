/*
 * stream.c - streamed answers: MHD asks for bytes, and the source provides them or has none yet.
 *
 * Without bytes the connection is suspended, and MHD ignores it until it is resumed, even if its
 * client hangs up. So our own epoll set watches the sockets of sleeping streams for a hang-up.
 */
#include <string.h>
#include <sys/epoll.h>

#include "net/http_internal.h"

static void stream_sleep(struct http_request *r)
{
	/* EPOLLHUP and EPOLLERR are always reported */
	struct epoll_event hangup = {.events = 0, .data.ptr = r};

	r->asleep = true;
	MHD_suspend_connection(r->mhd);
	epoll_ctl(r->http->leaves_fd, EPOLL_CTL_ADD, r->connection->fd, &hangup);
}

void stream_resume(struct http_request *r)
{
	if (!r->asleep)
		return;
	r->asleep = false;
	r->http->resumed = true;
	epoll_ctl(r->http->leaves_fd, EPOLL_CTL_DEL, r->connection->fd, NULL);
	MHD_resume_connection(r->mhd);
}

/* Gives MHD up to `room` bytes; it calls again until there are none. */
static ssize_t stream_read(void *context, uint64_t position, char *to, size_t room)
{
	struct http_request *r = context;

	if (r->gone || r->http->stopping)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (r->sent == r->out.n && !r->ended) {
		strbuf_clear(&r->out);
		r->sent = 0;
		int rc = r->source.fill(r->source.context, &r->out, STREAM_BLOCK);
		r->ended = rc < 0;
		if (r->out.n == 0 && rc >= 0) {
			stream_sleep(r);
			if (rc > 0) /* only a pause: the loop's other work first, then again */
				stream_resume(r);
			return 0;
		}
	}
	if (r->sent == r->out.n)
		return MHD_CONTENT_READER_END_OF_STREAM;

	size_t n = r->out.n - r->sent < room ? r->out.n - r->sent : room;
	memcpy(to, r->out.text + r->sent, n);
	r->sent += n;
	return (ssize_t)n;
}

struct MHD_Response *stream_response(struct http_request *r)
{
	return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, stream_read, r, NULL);
}

/* Wakes a sleeping stream. One that is awake will ask its source before it sleeps. */
void stream_wake(struct http_request *r)
{
	if (!r->asleep || r->queued)
		return;
	r->queued = true;
	vec_push(&r->http->ready, r);
}

void streams_left(struct http *h)
{
	struct epoll_event events[64];
	int n = epoll_wait(h->leaves_fd, events, 64, 0);

	for (int i = 0; i < n; i++) {
		struct http_request *r = events[i].data.ptr;
		r->gone = true;
		stream_resume(r);
	}
}
