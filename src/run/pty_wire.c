/*
 * pty_wire.c - the protocol of both ends of a terminal: frames, and data that survives its
 * connections.
 *
 * Data is counted from the first byte of the job's life. A sender keeps what the other end has not
 * consumed; a hello reports what has arrived, and the rest is sent again.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run/pty.h"

#define PART 16384		    /* maximum bytes read at once, and in a frame of data */
#define TELL_EVERY (PTY_WINDOW / 8) /* bytes consumed between two reports */

static void strbuf_drop(struct strbuf *b, size_t n)
{
	if (n)
		memmove(b->text, b->text + n, b->n - n);
	b->n -= n;
}

/* ---- sending ---- */

static void number_put(char *to, uint64_t n, int bytes)
{
	for (int i = 0; i < bytes; i++)
		to[i] = (char)(n >> 8 * i);
}

static uint64_t number_get(const char *from, int bytes)
{
	uint64_t n = 0;

	for (int i = 0; i < bytes; i++)
		n |= (uint64_t)(unsigned char)from[i] << 8 * i;
	return n;
}

void wire_put(struct pty_wire *w, enum pty_frame kind, const void *data, size_t n)
{
	char head[PTY_HEAD] = {(char)kind};

	number_put(head + 1, n, 4);
	strbuf_add(&w->out, head, sizeof head);
	strbuf_add(&w->out, data, n);
}

static void data_put(struct pty_wire *w, const char *data, size_t n)
{
	for (size_t at = 0; at < n; at += PART)
		wire_put(w, PTY_DATA, data + at, n - at < PART ? n - at : PART);
}

void wire_begin(struct pty_wire *w, const void *more, size_t n)
{
	char text[64];

	strbuf_clear(&w->in);
	strbuf_clear(&w->out);
	w->greeted = false;
	number_put(text, w->got, 8);
	if (n)
		memcpy(text + 8, more, n);
	wire_put(w, PTY_HELLO, text, 8 + n);
}

size_t wire_room(const struct pty_wire *w)
{
	return w->kept.n < PTY_WINDOW ? PTY_WINDOW - w->kept.n : 0;
}

void wire_send(struct pty_wire *w, const void *data, size_t n)
{
	strbuf_add(&w->kept, data, n);
	if (w->greeted)
		data_put(w, data, n);
}

void wire_tell(struct pty_wire *w)
{
	char text[8];

	if (!w->greeted)
		return;
	w->told = w->used;
	number_put(text, w->used, 8);
	wire_put(w, PTY_TAKEN, text, sizeof text);
}

void wire_used(struct pty_wire *w, size_t n)
{
	w->used += n;
	if (w->used - w->told >= TELL_EVERY)
		wire_tell(w);
}

ssize_t pty_push(int fd, struct strbuf *b)
{
	size_t all = b->n;

	while (b->n) {
		ssize_t n = send(fd, b->text, b->n, MSG_NOSIGNAL);
		if (n < 0 && errno == ENOTSOCK)
			n = write(fd, b->text, b->n);
		if (n < 0 && b->n == all && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n < 0)
			break;
		strbuf_drop(b, (size_t)n);
	}
	return (ssize_t)(all - b->n);
}

/* ---- receiving ---- */

/* Returns the bytes of the first frame; 0 if it is incomplete, -EPROTO if it is malformed. */
static ssize_t frame_at(const struct strbuf *in, size_t at, char *ret_kind, const char **ret_data, size_t *ret_n)
{
	size_t left = in->n - at;

	if (left < PTY_HEAD)
		return 0;
	*ret_n = (size_t)number_get(in->text + at + 1, 4);
	if (*ret_n > PTY_FRAME_MAX)
		return -EPROTO;
	if (left < PTY_HEAD + *ret_n)
		return 0;
	*ret_kind = in->text[at];
	*ret_data = in->text + at + PTY_HEAD;
	return (ssize_t)(PTY_HEAD + *ret_n);
}

static int hello_take(struct pty_wire *w, const char *data, size_t n)
{
	uint64_t got = n >= 8 ? number_get(data, 8) : 0;

	if (n < 8 || got < w->base || got > w->base + w->kept.n || w->greeted)
		return -EPROTO;
	w->greeted = true;
	if (w->kept.n)
		data_put(w, w->kept.text + (got - w->base), w->kept.n - (size_t)(got - w->base));
	wire_tell(w); /* the last report may not have arrived */
	return 0;
}

static int frame_take(struct pty_wire *w, char kind, const char *data, size_t n)
{
	uint64_t used;

	if (kind == PTY_HELLO)
		return hello_take(w, data, n);
	if (!w->greeted)
		return -EPROTO;
	if (kind == PTY_DATA) {
		w->got += n;
		return w->got - w->used > PTY_WINDOW ? -EPROTO : 0;
	}
	if (kind != PTY_TAKEN)
		return 0;
	used = n == 8 ? number_get(data, 8) : 0;
	if (n != 8 || used < w->base || used > w->base + w->kept.n)
		return -EPROTO;
	strbuf_drop(&w->kept, (size_t)(used - w->base));
	w->base = used;
	return 0;
}

int wire_take(struct pty_wire *w, void (*obey)(void *context, char kind, const char *data, size_t n), void *context)
{
	const char *data;
	size_t at = 0, n;
	ssize_t took;
	char kind;
	int rc = 0;

	while (rc == 0 && (took = frame_at(&w->in, at, &kind, &data, &n)) > 0) {
		rc = frame_take(w, kind, data, n);
		if (rc == 0)
			obey(context, kind, data, n);
		at += (size_t)took;
	}
	strbuf_drop(&w->in, at);
	return rc < 0 ? rc : took < 0 ? -EPROTO : 0;
}

/* Returns true if the other end hung up, after the end of its data. If nothing could be sent
 * either, the connection is broken instead. */
static bool is_hang_up(int fd)
{
	struct pollfd p = {.fd = fd};

	return poll(&p, 1, 0) >= 0 && !(p.revents & (POLLHUP | POLLERR));
}

int wire_read(struct pty_wire *w, int fd, void (*obey)(void *context, char kind, const char *data, size_t n),
	      void *context)
{
	char part[PART];
	ssize_t got = read(fd, part, sizeof part);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got <= 0)
		return got == 0 && is_hang_up(fd) ? 1 : -EPIPE;
	strbuf_add(&w->in, part, (size_t)got);
	return wire_take(w, obey, context);
}

void wire_fini(struct pty_wire *w)
{
	strbuf_fini(&w->in);
	strbuf_fini(&w->out);
	strbuf_fini(&w->kept);
}
