/*
 * pump.c - relays bytes between TLS and a plain socket.
 *
 * Each direction holds at most one block that the other side has not accepted; until it is sent
 * nothing more is read, so TCP or the plain socket slows down a fast sender. Blocks are read into
 * one buffer per thread: a silent connection has none.
 *
 * A direction whose source has ended is shut down once all is sent. If that is the client's, the
 * client counts as gone: the plain side has some seconds to send the rest. If it is the plain
 * side's, the client has some seconds to close, so that the kernel does not discard data in flight.
 */
#include "net/pump.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/strbuf.h"

#define BLOCK 16384
#define BLOCKS 8 /* maximum blocks at once, before other work */
#define GRACE_MS 5000

enum { INWARD, OUTWARD }; /* from the client; to the client */

struct flow {
	struct strbuf rest; /* read but not accepted, from `sent` on */
	size_t sent;
	bool ended; /* the source has ended */
	bool shut;  /* the destination was shut down */
};

struct pump {
	struct tls *tls;
	int fd;
	struct flow flow[2];
	uv_poll_t outer, inner; /* the client's socket; the plain one */
	int outer_events, inner_events;
	uv_idle_t again; /* there may be input that poll does not report */
	uv_timer_t stall;
	uint64_t stall_ms;
	int handles;
	bool stopped;
	bool crossed; /* TLS must write before it can read more */
	bool deaf;    /* the plain side accepts no more: the client's data is dropped */
	void (*ended)(void *context);
	void *context;
};

static _Thread_local char block[BLOCK];

static void on_outer(uv_poll_t *poll, int status, int events);
static void on_inner(uv_poll_t *poll, int status, int events);
static void on_again(uv_idle_t *idle);

/* ---- life ---- */

static void on_handle_closed(uv_handle_t *handle)
{
	struct pump *p = handle->data;

	if (--p->handles > 0)
		return;
	tls_free(p->tls);
	close(p->fd);
	p->ended(p->context);
	strbuf_fini(&p->flow[INWARD].rest);
	strbuf_fini(&p->flow[OUTWARD].rest);
	free(p);
}

void pump_stop(struct pump *p)
{
	if (p->stopped)
		return;
	p->stopped = true;
	uv_close((uv_handle_t *)&p->outer, on_handle_closed);
	uv_close((uv_handle_t *)&p->inner, on_handle_closed);
	uv_close((uv_handle_t *)&p->again, on_handle_closed);
	uv_close((uv_handle_t *)&p->stall, on_handle_closed);
}

bool pump_lingers(const struct pump *p)
{
	return p->flow[OUTWARD].ended && !p->stopped;
}

struct pump *pump_start(uv_loop_t *loop, struct tls *tls, int fd, int stall_seconds, void (*ended)(void *context),
			void *context)
{
	struct pump *p = mem_zalloc(sizeof *p);

	*p = (struct pump){.tls = tls,
			   .fd = fd,
			   .stall_ms = (uint64_t)stall_seconds * 1000,
			   .handles = 4,
			   .ended = ended,
			   .context = context};
	int rc = uv_poll_init(loop, &p->outer, tls_fd(tls));
	rc = rc ? rc : uv_poll_init(loop, &p->inner, fd);
	/* a descriptor that can't be polled, or already is, is the caller's mistake */
	assert(rc == 0);
	uv_idle_init(loop, &p->again);
	uv_timer_init(loop, &p->stall);
	p->outer.data = p->inner.data = p->again.data = p->stall.data = p;
	/* the request may have come with the handshake's last bytes */
	uv_idle_start(&p->again, on_again);
	return p;
}

/* ---- a direction ---- */

static ssize_t source_read(struct pump *p, int way)
{
	ssize_t n;

	if (way == OUTWARD) {
		n = recv(p->fd, block, sizeof block, 0);
		/* a reset also counts as the end */
		return n >= 0 ? n : errno == EINTR || errno == EAGAIN ? -EAGAIN : 0;
	}
	n = tls_read(p->tls, block, sizeof block);
	p->crossed = n == -EAGAIN && (tls_events(p->tls) & POLLOUT);
	return n;
}

static ssize_t destination_write(struct pump *p, int way, const char *buf, size_t n)
{
	if (way == OUTWARD)
		return tls_write(p->tls, buf, n);

	ssize_t rc = p->deaf ? (ssize_t)n : send(p->fd, buf, n, MSG_NOSIGNAL);
	if (rc < 0 && (errno == EINTR || errno == EAGAIN))
		return -EAGAIN;
	p->deaf = p->deaf || rc < 0;
	return rc < 0 ? (ssize_t)n : rc;
}

static void destination_shut(struct pump *p, int way)
{
	if (way == OUTWARD)
		tls_shutdown(p->tls);
	else
		shutdown(p->fd, SHUT_WR);
	p->flow[way].shut = true;
}

/* Sends what is waiting; returns the bytes sent, -EAGAIN if none, or -errno. Keeps the rest. */
static ssize_t rest_send(struct pump *p, int way)
{
	struct flow *f = &p->flow[way];
	ssize_t n = destination_write(p, way, f->rest.text + f->sent, f->rest.n - f->sent);

	if (n < 0)
		return n;
	f->sent += (size_t)n;
	if (f->sent == f->rest.n) {
		strbuf_fini(&f->rest);
		f->sent = 0;
	}
	return n;
}

static ssize_t block_move(struct pump *p, int way)
{
	struct flow *f = &p->flow[way];
	ssize_t n = source_read(p, way), put;

	f->ended = n == 0;
	if (n <= 0)
		return n;
	put = destination_write(p, way, block, (size_t)n);
	if (put < 0 && put != -EAGAIN)
		return put;
	if (put < n)
		strbuf_add(&f->rest, block + (put < 0 ? 0 : put), (size_t)(n - (put < 0 ? 0 : put)));
	return n;
}

/* Relays as much as possible. Returns 0, or -errno if the connection is broken. */
static int flow_run(struct pump *p, int way)
{
	struct flow *f = &p->flow[way];
	ssize_t n = 0;
	int i;

	for (i = 0; i < BLOCKS && n >= 0; i++) {
		if (f->rest.n > 0)
			n = rest_send(p, way);
		else if (!f->ended)
			n = block_move(p, way);
		else
			break;
		if (n > 0 && way == OUTWARD)
			/* there is progress; pump_watch() restarts it if needed */
			uv_timer_stop(&p->stall);
	}
	if (n < 0 && n != -EAGAIN)
		return (int)n;
	if (i == BLOCKS)
		uv_idle_start(&p->again, on_again);
	if (f->ended && !f->shut && f->rest.n == 0)
		destination_shut(p, way);
	return 0;
}

/* ---- the loop ---- */

static void on_stall(uv_timer_t *timer)
{
	pump_stop(timer->data);
}

static void poll_set(uv_poll_t *poll, int *now, int events, uv_poll_cb callback)
{
	if (*now == events)
		return;
	*now = events;
	if (events)
		uv_poll_start(poll, events, callback);
	else
		uv_poll_stop(poll);
}

static void pump_watch(struct pump *p)
{
	const struct flow *in = &p->flow[INWARD], *out = &p->flow[OUTWARD];
	bool reads = !in->ended && in->rest.n == 0;
	bool ends = in->ended || out->ended;

	poll_set(&p->outer, &p->outer_events,
		 (reads ? UV_READABLE : 0) | (out->rest.n > 0 || (reads && p->crossed) ? UV_WRITABLE : 0), on_outer);
	poll_set(&p->inner, &p->inner_events,
		 (!out->ended && out->rest.n == 0 ? UV_READABLE : 0) | (in->rest.n > 0 ? UV_WRITABLE : 0), on_inner);
	if (!ends && out->rest.n == 0)
		uv_timer_stop(&p->stall);
	else if (!uv_is_active((uv_handle_t *)&p->stall))
		uv_timer_start(&p->stall, on_stall, ends && p->stall_ms > GRACE_MS ? GRACE_MS : p->stall_ms, 0);
}

static void pump_run(struct pump *p)
{
	if (p->stopped)
		return;
	if (flow_run(p, INWARD) < 0 || flow_run(p, OUTWARD) < 0 || (p->flow[INWARD].shut && p->flow[OUTWARD].shut))
		pump_stop(p);
	else
		pump_watch(p);
}

static void on_outer(uv_poll_t *poll, int status, int events)
{
	struct pump *p = poll->data;

	if (status < 0)
		/* libuv has stopped polling; reading and writing will return the error */
		p->outer_events = 0;
	pump_run(p);
}

static void on_inner(uv_poll_t *poll, int status, int events)
{
	struct pump *p = poll->data;

	if (status < 0)
		p->inner_events = 0;
	pump_run(p);
}

static void on_again(uv_idle_t *idle)
{
	uv_idle_stop(idle);
	pump_run(idle->data);
}
