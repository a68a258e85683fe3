/*
 * relay.c - relays bytes between two connections.
 *
 * Each side has a buffer of data to send to it, and is read while the other side has space. After
 * every event relay_turn() sets what to wait for.
 */
#include "engine/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/watch.h"
#include "net/handle.h"

#define ROOM 131072 /* maximum bytes waiting for a side */
#define PART 32768

struct side {
	struct relay *r;
	struct watch *watch; /* NULL: this side is the link */
	struct relay_end end;
	struct strbuf out;
	bool silent; /* nothing more comes from it */
	bool told;   /* it was notified that nothing more comes */
};

struct relay {
	struct side side[2];
	struct link *link; /* the second side, or NULL */
	uv_idle_t over;	   /* reports the end in its own phase of the loop */
	void (*ended)(void *context);
	void *context;
	bool broken;
};

static const struct link_events nobody = {0};

static struct side *other(struct side *s)
{
	return s == &s->r->side[0] ? &s->r->side[1] : &s->r->side[0];
}

/* ---- life ---- */

/* A watch closes its descriptor; one that is given back was duplicated for it. */
static void side_close(struct side *s)
{
	watch_close(s->watch);
	s->watch = NULL;
	if (s->end.release)
		s->end.release(s->end.handle);
	s->end.release = NULL;
	strbuf_fini(&s->out);
}

static void sides_close(struct relay *r)
{
	struct link *l = r->link;

	side_close(&r->side[0]);
	side_close(&r->side[1]);
	r->link = NULL;
	if (l) {
		link_events_set(l, &nobody, NULL);
		link_pause(l, false); /* it must be read to be closed properly */
		link_close(l, "the terminal's other side is gone");
	}
}

void relay_close(struct relay *r)
{
	if (!r)
		return;
	sides_close(r);
	uv_close((uv_handle_t *)&r->over, handle_data_free);
}

static void on_over(uv_idle_t *h)
{
	struct relay *r = h->data;

	uv_idle_stop(h);
	sides_close(r);
	r->ended(r->context);
	uv_close((uv_handle_t *)&r->over, handle_data_free);
}

static void relay_break(struct relay *r)
{
	if (!r->broken)
		uv_idle_start(&r->over, on_over);
	r->broken = true;
}

/* ---- sending to a side ---- */

static bool side_has_room(const struct side *s)
{
	return s->watch ? s->out.n < ROOM : link_queued(s->r->link) < ROOM;
}

static void side_push(struct side *s)
{
	ssize_t n = s->out.n ? send(watch_fd(s->watch), s->out.text, s->out.n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

	if (n > 0) {
		memmove(s->out.text, s->out.text + n, s->out.n - (size_t)n);
		s->out.n -= (size_t)n;
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		strbuf_clear(&s->out); /* reading will find the end */
	}
	if (s->out.n == 0 && other(s)->silent && !s->told) {
		s->told = true;
		shutdown(watch_fd(s->watch), SHUT_WR);
	}
}

static void side_give(struct side *s, const char *data, size_t n)
{
	if (s->watch) {
		strbuf_add(&s->out, data, n);
		side_push(s);
	} else {
		link_pack(s->r->link, data, n, "{s:s}", "t", "data");
	}
}

/* Notifies a side that nothing more comes for it. */
static void side_end(struct side *s)
{
	if (s->watch)
		side_push(s);
	else
		link_pack(s->r->link, NULL, 0, "{s:s}", "t", "end");
}

/* ---- receiving from a side ---- */

static void relay_turn(struct relay *r)
{
	for (int i = 0; i < 2; i++) {
		struct side *s = &r->side[i];
		bool reads = !s->silent && !r->broken && side_has_room(other(s));
		if (s->watch)
			watch_for(s->watch, (reads ? UV_READABLE : 0) | (s->out.n && !r->broken ? UV_WRITABLE : 0));
		else if (r->link)
			link_pause(r->link, !reads);
	}
}

/* Returns true if the peer shut down only its sending direction, or hung up on purpose. */
static bool is_meant(const struct side *s, ssize_t n)
{
	struct pollfd p = {.fd = watch_fd(s->watch)};

	return s->end.final || (n == 0 && poll(&p, 1, 0) >= 0 && !(p.revents & (POLLHUP | POLLERR)));
}

static void side_read(struct side *s)
{
	char part[PART];
	ssize_t n = recv(watch_fd(s->watch), part, sizeof part, MSG_DONTWAIT);

	if (n > 0) {
		side_give(other(s), part, (size_t)n);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		if (is_meant(s, n)) {
			s->silent = true;
			side_end(other(s));
		} else {
			relay_break(s->r);
		}
	}
}

static void on_ready(void *context, int events)
{
	struct side *s = context;

	if (events & UV_WRITABLE)
		side_push(s);
	if (events & UV_READABLE && !s->silent && !s->r->broken)
		side_read(s);
	relay_turn(s->r);
}

/* ---- the link ---- */

static void on_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct relay *r = context;
	const char *t = json_string_value(json_object_get(head, "t"));

	if (t && strcmp(t, "data") == 0 && !r->side[1].silent)
		side_give(&r->side[0], data, n);
	if (t && strcmp(t, "end") == 0 && !r->side[1].silent) {
		r->side[1].silent = true;
		side_end(&r->side[0]);
	}
	relay_turn(r);
}

static void on_drained(void *context, struct link *l)
{
	relay_turn(context);
}

static void on_closed(void *context, struct link *l, const char *reason)
{
	struct relay *r = context;

	r->link = NULL;
	relay_break(r);
	relay_turn(r);
}

/* ---- making ---- */

static struct relay *relay_make(uv_loop_t *loop, void (*ended)(void *context), void *context)
{
	struct relay *r = mem_zalloc(sizeof *r);

	*r = (struct relay){.ended = ended, .context = context};
	uv_idle_init(loop, &r->over);
	r->over.data = r;
	return r;
}

/* Opens a side. A descriptor that is to be given back must not be closed, so the watch gets a
 * duplicate. */
static void side_open(struct relay *r, int i, uv_loop_t *loop, const struct relay_end *end)
{
	int fd = end->release ? fcntl(end->fd, F_DUPFD_CLOEXEC, 0) : end->fd;

	r->side[i] = (struct side){.r = r, .end = *end};
	r->side[i].watch = watch_open(loop, fd, on_ready, &r->side[i]);
}

struct relay *relay_sockets(uv_loop_t *loop, const struct relay_end *a, const struct relay_end *b,
			    void (*ended)(void *context), void *context)
{
	struct relay *r = relay_make(loop, ended, context);

	side_open(r, 0, loop, a);
	side_open(r, 1, loop, b);
	relay_turn(r);
	return r;
}

struct relay *relay_link(uv_loop_t *loop, const struct relay_end *a, struct link *l, void (*ended)(void *context),
			 void *context)
{
	static const struct link_events events = {.frame = on_frame, .drained = on_drained, .closed = on_closed};
	struct relay *r = relay_make(loop, ended, context);

	side_open(r, 0, loop, a);
	r->side[1].r = r;
	r->link = l;
	link_events_set(l, &events, r);
	relay_turn(r);
	return r;
}
