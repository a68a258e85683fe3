/*
 * link.c - frames over a socket, usually TLS, in the loop.
 *
 * Input is read into one buffer per thread and handed over from there; only incomplete frames are
 * kept with the link, so that an idle one costs little. Output is queued and sent once a turn: an
 * idle handle runs before the loop waits, and while it is active the loop does not wait, so nothing
 * is delayed wherever in a turn it was queued.
 *
 * The memory is freed when libuv reports that the handles are closed, from its own phase: `closed`
 * is never called from inside another call.
 */
#include "net/link.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/codec.h"
#include "base/jsonread.h"
#include "base/mem.h"
#include "net/address.h"
#include "net/link_internal.h"

#define LINGER_MS 5000
#define RECORD 16384  /* bytes of a TLS record: reading more at once gains nothing */
#define BUDGET 262144 /* maximum bytes read at once, before other links get their turn */
#define COMPACT 65536 /* bytes sent from a queue before the rest is moved up */

static _Thread_local char room[65536]; /* used only while a link reads */

static void on_poll(uv_poll_t *poll, int status, int events);
static void on_later(uv_idle_t *idle);

/* ---- life ---- */

static void in_count(struct link *l, ssize_t n)
{
	if (l->share)
		l->share->held += (size_t)n;
}

static void link_free(struct link *l)
{
	if (l->tls)
		tls_free(l->tls);
	else if (l->fd >= 0)
		close(l->fd);
	in_count(l, -(ssize_t)l->in.n);
	if (l->gone)
		l->gone(l->gone_of);
	strbuf_fini(&l->in);
	strbuf_fini(&l->out);
	free(l->reason);
	free(l);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct link *l = handle->data;

	if (--l->handles > 0)
		return;
	if (l->e.closed)
		l->e.closed(l->context, l, l->reason);
	link_free(l);
}

void link_gone(struct link *l)
{
	l->stage = LINK_GONE;
	uv_close((uv_handle_t *)&l->timer, on_handle_closed);
	uv_close((uv_handle_t *)&l->later, on_handle_closed);
	if (l->fd >= 0)
		uv_close((uv_handle_t *)&l->poll, on_handle_closed);
}

void link_fail(struct link *l, const char *fmt, ...)
{
	struct strbuf text = {0};
	va_list ap;

	if (l->stage == LINK_GONE)
		return;
	if (!l->reason) {
		va_start(ap, fmt);
		strbuf_vprintf(&text, fmt, ap);
		va_end(ap);
		l->reason = text.text;
	}
	if (l->dial)
		dial_drop(l->dial);
	l->dial = NULL;
	link_gone(l);
}

struct link *link_create(uv_loop_t *loop, const struct link_events *e, void *context)
{
	struct link *l = mem_zalloc(sizeof *l);

	*l = (struct link){.loop = loop, .context = context, .fd = -1, .heard = (int64_t)uv_now(loop)};
	if (e)
		l->e = *e;
	uv_timer_init(loop, &l->timer);
	uv_idle_init(loop, &l->later);
	l->timer.data = l->later.data = l;
	l->handles = 2;
	return l;
}

static void on_shake_late(uv_timer_t *timer)
{
	link_fail(timer->data, "the other side did not complete the TLS handshake within %d s", STEP_MS / 1000);
}

/* Runs before the loop waits next. */
static void link_later(struct link *l)
{
	if (l->stage != LINK_GONE)
		uv_idle_start(&l->later, on_later);
}

void link_begin(struct link *l, int fd, struct tls *tls, bool shaken)
{
	l->fd = fd;
	l->tls = tls;
	l->stage = tls && !shaken ? LINK_SHAKES : LINK_OPEN;
	l->greets = !shaken;
	l->more = true; /* data may have come with the handshake's last bytes */
	socket_tune(fd);
	int rc = uv_poll_init(l->loop, &l->poll, fd);
	/* a descriptor that can't be polled, or already is, is the caller's mistake */
	assert(rc == 0);
	l->poll.data = l;
	l->handles++;
	if (l->closing) /* its 5 s are already running */
		;
	else if (l->stage == LINK_SHAKES)
		uv_timer_start(&l->timer, on_shake_late, STEP_MS, 0);
	else
		uv_timer_stop(&l->timer);
	link_later(l);
}

struct link *link_open(uv_loop_t *loop, int fd, struct tls *tls, const struct link_events *e, void *context)
{
	struct link *l = link_create(loop, e, context);

	link_begin(l, fd, tls, false);
	return l;
}

static void on_linger_over(uv_timer_t *timer)
{
	link_fail(timer->data, "closed");
}

void link_close(struct link *l, const char *reason)
{
	if (l->closing || l->stage == LINK_GONE)
		return;
	l->closing = true;
	l->reason = mem_strdup(reason);
	if (l->stage < LINK_OPEN && l->out.n == 0) {
		link_fail(l, "%s", reason);
		return;
	}
	uv_timer_start(&l->timer, on_linger_over, LINGER_MS, 0);
	if (l->stage == LINK_OPEN)
		link_later(l);
}

/* Resets the connection: an ordinary close would wait behind the data in a full connection. */
void link_abort(struct link *l, const char *reason)
{
	const struct linger none = {.l_onoff = 1};

	if (l->fd >= 0)
		setsockopt(l->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
	link_fail(l, "%s", reason);
}

void link_events_set(struct link *l, const struct link_events *e, void *context)
{
	l->e = *e;
	l->context = context;
}

void link_trust(struct link *l)
{
	l->trusted = true;
}

void link_share(struct link *l, struct link_share *share)
{
	in_count(l, -(ssize_t)l->in.n);
	l->share = share;
	in_count(l, (ssize_t)l->in.n);
}

void link_expire(struct link *l, int64_t until)
{
	l->until = until;
}

static bool link_expired(struct link *l)
{
	if (!l->until || time(NULL) < l->until)
		return false;
	link_fail(l, "the certificate of the other side has expired");
	return true;
}

/* ---- input ---- */

/* Hands over the complete frames of a buffer; returns how many bytes they took. The owner may pause
 * or close the link at any of them. */
static size_t frames_take(struct link *l, const char *buf, size_t n)
{
	size_t most = l->trusted ? 4 + (size_t)LINK_HEAD_MAX + LINK_DATA_MAX : LINK_STRANGER_MAX, at = 0;
	const char *head, *data;
	size_t nhead, ndata;

	while (!l->paused && !l->closing && l->stage == LINK_OPEN && !link_expired(l)) {
		ssize_t took = frame_next(buf + at, n - at, most, &head, &nhead, &data, &ndata);
		if (took == 0)
			break;
		if (took == -EMSGSIZE || (took > 0 && (nhead > LINK_HEAD_MAX || ndata > LINK_DATA_MAX))) {
			link_fail(l, "the other side sent a message that is larger than allowed");
			break;
		}
		json_t *json = took < 0 ? NULL : json_read(head, nhead, JSON_REJECT_DUPLICATES, NULL);
		if (!json_is_object(json)) {
			json_decref(json);
			link_fail(l, "the other side sent something that is not a message");
			break;
		}
		at += (size_t)took;
		if (l->e.frame)
			l->e.frame(l->context, l, json, data, ndata);
		json_decref(json);
		/* link_trust() may have been called meanwhile */
		most = l->trusted ? 4 + (size_t)LINK_HEAD_MAX + LINK_DATA_MAX : LINK_STRANGER_MAX;
	}
	return at;
}

/* Hands over frames that arrived before a pause. */
static void kept_take(struct link *l)
{
	if (l->taken < l->in.n)
		l->taken += frames_take(l, l->in.text + l->taken, l->in.n - l->taken);
	if (l->taken == l->in.n) {
		in_count(l, -(ssize_t)l->in.n);
		strbuf_fini(&l->in);
		l->taken = 0;
	}
}

/* Keeps an incomplete frame. Small ones are always kept, because the number of links is limited. */
static void bytes_keep(struct link *l, const char *buf, size_t n)
{
	if (l->share && l->share->held + n > LINK_SHARE_MAX && l->in.n + n > LINK_STRANGER_MAX) {
		link_fail(l, "too many large messages are under way at once");
		return;
	}
	strbuf_add(&l->in, buf, n);
	in_count(l, (ssize_t)n);
}

static void bytes_take(struct link *l, const char *buf, size_t n)
{
	if (l->in.n == 0) {
		size_t took = frames_take(l, buf, n);
		if (took < n && l->stage == LINK_OPEN)
			bytes_keep(l, buf + took, n - took);
		return;
	}
	if (l->taken > 0) {
		in_count(l, -(ssize_t)l->taken);
		l->in.n -= l->taken;
		memmove(l->in.text, l->in.text + l->taken, l->in.n);
		l->taken = 0;
	}
	bytes_keep(l, buf, n);
	kept_take(l);
}

static ssize_t socket_read(struct link *l)
{
	ssize_t n = l->tls ? tls_read(l->tls, room, sizeof room) : recv(l->fd, room, sizeof room, 0);

	if (!l->tls && n < 0)
		n = errno == EINTR ? -EAGAIN : -errno;
	l->crossed = l->tls && n == -EAGAIN && (tls_events(l->tls) & POLLOUT);
	return n;
}

/* Reads until there is nothing more, or its budget is used up. Input after closing is dropped, but
 * must be read: otherwise the kernel discards what we sent. */
static void link_read(struct link *l)
{
	size_t total = 0;

	l->more = false;
	if (!l->closing)
		kept_take(l);
	while (l->stage == LINK_LEAVES || (l->stage == LINK_OPEN && (l->closing || !l->paused))) {
		if (total >= BUDGET) {
			l->more = true;
			link_later(l);
			return;
		}
		ssize_t n = socket_read(l);
		if (n == -EAGAIN)
			return;
		if (n <= 0) {
			link_fail(l, "%s",
				  n == 0   ? "the other side closed the connection"
				  : l->tls ? tls_why(l->tls)
					   : strerror((int)-n));
			return;
		}
		l->heard = (int64_t)uv_now(l->loop);
		total += (size_t)n;
		if (!l->closing)
			bytes_take(l, room, (size_t)n);
	}
}

void link_pause(struct link *l, bool pause)
{
	if (l->paused == pause || l->stage == LINK_GONE)
		return;
	l->paused = pause;
	l->more = l->more || !pause;
	link_later(l); /* polls for what is needed now; hands over frames that were kept */
}

void link_notice_end(struct link *l)
{
	l->notices = true;
}

/* ---- output ---- */

bool link_orphaned(const struct link *l)
{
	return l->tls && tls_ended(l->tls);
}

size_t link_queued(const struct link *l)
{
	return l->out.n - l->sent;
}

static ssize_t socket_write(struct link *l, const char *buf, size_t n)
{
	if (l->tls)
		return tls_write(l->tls, buf, n < RECORD ? n : RECORD);

	ssize_t rc = send(l->fd, buf, n, MSG_NOSIGNAL);
	return rc >= 0 ? rc : errno == EINTR ? -EAGAIN : -errno;
}

static void out_compact(struct link *l)
{
	if (l->sent == l->out.n) {
		strbuf_fini(&l->out);
		l->sent = 0;
	} else if (l->sent > COMPACT && l->sent > l->out.n / 2) {
		l->out.n -= l->sent;
		memmove(l->out.text, l->out.text + l->sent, l->out.n);
		l->sent = 0;
	}
}

/* Handles a failed write: what the peer sent before it closed may still be readable, and has a
 * better reason. */
static void link_broken(struct link *l, int code)
{
	strbuf_fini(&l->out);
	l->sent = 0;
	link_read(l);
	link_fail(l, "%s", strerror(code));
}

static void link_leave(struct link *l)
{
	l->stage = LINK_LEAVES;
	if (l->tls)
		tls_shutdown(l->tls);
	else
		shutdown(l->fd, SHUT_WR);
	link_read(l);
}

static void link_flush(struct link *l)
{
	size_t before = link_queued(l);

	l->blocked = false;
	while (l->sent < l->out.n && !l->blocked) {
		ssize_t n = socket_write(l, l->out.text + l->sent, l->out.n - l->sent);
		if (n == -EAGAIN) {
			l->blocked = true;
		} else if (n < 0) {
			link_broken(l, (int)-n);
			return;
		} else {
			l->sent += (size_t)n;
		}
	}
	out_compact(l);
	if (l->closing && link_queued(l) == 0)
		link_leave(l);
	else if (!l->closing && link_queued(l) < before && link_queued(l) < LINK_LOW && l->e.drained)
		l->e.drained(l->context, l);
}

void link_send(struct link *l, const char *head, size_t nhead, const void *data, size_t n)
{
	if (l->closing || l->stage == LINK_GONE || link_expired(l))
		return;
	frame_put(&l->out, head, nhead, data, n);
	if (link_queued(l) > LINK_QUEUE_MAX)
		link_fail(l, "the other side does not read: %zu bytes wait for it", link_queued(l));
	else if (l->stage == LINK_OPEN && !l->blocked)
		link_later(l);
}

void link_pack(struct link *l, const void *data, size_t n, const char *fmt, ...)
{
	json_error_t error;
	va_list ap;

	va_start(ap, fmt);
	json_t *head = json_vpack_ex(&error, 0, fmt, ap);
	va_end(ap);
	char *text = head ? json_dumps(head, JSON_COMPACT) : NULL;
	if (text)
		link_send(l, text, strlen(text), data, n);
	else
		link_fail(l, "can't write a message: %s", head ? "it is not JSON" : error.text);
	free(text);
	json_decref(head);
}

void link_record(struct link *l, const char *type, const struct schema *t, const void *record)
{
	link_record_data(l, type, t, record, NULL, 0);
}

void link_record_data(struct link *l, const char *type, const struct schema *t, const void *record, const void *data,
		      size_t n)
{
	struct strbuf head = {0};
	struct json j;

	json_begin(&j, &head);
	json_text(&j, "t", type);
	record_show(t->fields, t->in, record, NULL, &j);
	json_close_object(&j);
	link_send(l, head.text, head.n, data, n);
	strbuf_fini(&head);
}

/* ---- the loop ---- */

static void link_shake(struct link *l)
{
	struct err err;
	int rc = tls_handshake(l->tls, &err);

	if (rc < 0)
		link_fail(l, "%s", err.text);
	if (rc <= 0)
		return;
	l->stage = LINK_OPEN;
	l->until = tls_peer_until(l->tls);
	l->more = true;
	if (!l->closing)
		uv_timer_stop(&l->timer);
	link_later(l);
}

/* Polls for the events that it waits for. */
static void link_watch(struct link *l)
{
	int events = 0;

	if (l->stage == LINK_GONE)
		return;
	if (l->stage == LINK_SHAKES) {
		short wants = tls_events(l->tls);
		events = (wants & POLLIN ? UV_READABLE : 0) | (wants & POLLOUT ? UV_WRITABLE : 0);
	} else {
		bool reads = !l->paused || l->closing;
		int otherwise = l->notices ? UV_DISCONNECT : 0;
		events = (reads ? UV_READABLE : otherwise) | (l->blocked || (reads && l->crossed) ? UV_WRITABLE : 0);
	}
	if (events == l->events)
		return;
	l->events = events;
	if (events)
		uv_poll_start(&l->poll, events, on_poll);
	else
		uv_poll_stop(&l->poll);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct link *l = poll->data;

	if (status < 0)
		/* libuv has stopped polling; reading and writing will return the error */
		l->events = 0;
	if (l->stage == LINK_SHAKES) {
		link_shake(l);
	} else {
		if (status < 0 || (events & UV_READABLE) || l->crossed)
			link_read(l);
		if (l->stage == LINK_OPEN && (l->blocked || l->closing))
			link_flush(l);
	}
	if (l->paused && l->notices && (events & UV_DISCONNECT))
		link_fail(l, "the other side closed the connection");
	if (status < 0 && l->paused) /* it would be reported again and again */
		link_fail(l, "the connection broke");
	link_watch(l);
}

static void on_later(uv_idle_t *idle)
{
	struct link *l = idle->data;

	uv_idle_stop(idle);
	if (l->stage == LINK_SHAKES)
		link_shake(l);
	if (l->stage == LINK_OPEN && l->greets) {
		l->greets = false;
		if (l->e.ready && !l->closing)
			l->e.ready(l->context, l);
	}
	if (l->more && (l->stage == LINK_OPEN || l->stage == LINK_LEAVES))
		link_read(l);
	if (l->stage == LINK_OPEN && (l->out.n > 0 || l->closing))
		link_flush(l);
	link_watch(l);
}

/* ---- queries ---- */

int64_t link_heard(const struct link *l)
{
	return l->heard;
}

void link_peer(const struct link *l, struct cert_names *ret)
{
	*ret = (struct cert_names){.role = CERT_NOBODY};
	if (l->tls)
		tls_peer(l->tls, ret);
}

void link_address(const struct link *l, char *ret, size_t size)
{
	struct sockaddr_storage a = {.ss_family = AF_UNSPEC};
	socklen_t n = sizeof a;

	if (l->fd >= 0)
		getpeername(l->fd, (struct sockaddr *)&a, &n);
	address_text(&a, ret, size);
}
