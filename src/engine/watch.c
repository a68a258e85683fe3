/*
 * watch.c - a descriptor in the loop. libuv needs the handle until its closing was reported, so it
 * has its own memory.
 */
#include "engine/watch.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/handle.h"

struct watch {
	uv_poll_t poll;
	int fd, events;
	void (*ready)(void *context, int events);
	void *context;
};

static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct watch *w = poll->data;

	if (status < 0) /* libuv has stopped; reading or writing will return the error */
		w->events = 0;
	w->ready(w->context, status < 0 ? UV_READABLE | UV_WRITABLE : events);
}

struct watch *watch_open(uv_loop_t *loop, int fd, void (*ready)(void *context, int events), void *context)
{
	struct watch *w = mem_zalloc(sizeof *w);

	*w = (struct watch){.fd = fd, .ready = ready, .context = context};
	uv_poll_init(loop, &w->poll, fd);
	w->poll.data = w;
	return w;
}

void watch_for(struct watch *w, int events)
{
	if (events == w->events)
		return;
	w->events = events;
	if (events)
		uv_poll_start(&w->poll, events, on_ready);
	else
		uv_poll_stop(&w->poll);
}

int watch_fd(const struct watch *w)
{
	return w->fd;
}

void watch_close(struct watch *w)
{
	if (!w)
		return;
	uv_poll_stop(&w->poll);
	/* already removed from epoll: the loop must not keep a pipe's end open any longer */
	close(w->fd);
	uv_close((uv_handle_t *)&w->poll, handle_data_free);
}
