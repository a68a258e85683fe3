/*
 * cable.c - frames over polled descriptors.
 */
#include "pmix/cable.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/frame.h"

#define PIECE 65536

static void unblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && !(flags & O_NONBLOCK))
		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

void cable_init(struct cable *w, int in, int out)
{
	*w = (struct cable){.in = in, .out = out};
	unblock(in);
	unblock(out);
}

void cable_fini(struct cable *w)
{
	if (w->in >= 0)
		close(w->in);
	if (w->out >= 0 && w->out != w->in)
		close(w->out);
	strbuf_fini(&w->from);
	strbuf_fini(&w->to);
	*w = (struct cable){.in = -1, .out = -1};
}

/* Drops the consumed part of a buffer, but not for a few bytes. */
static void trim(struct strbuf *b, size_t *done)
{
	if (*done < b->n && *done < PIECE)
		return;
	if (b->n > *done)
		memmove(b->text, b->text + *done, b->n - *done);
	b->n -= *done;
	*done = 0;
}

ssize_t cable_fill(struct cable *w)
{
	char piece[PIECE];
	ssize_t n = read(w->in, piece, sizeof piece);

	if (n == 0)
		return -EPIPE;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
	trim(&w->from, &w->taken);
	strbuf_add(&w->from, piece, (size_t)n);
	return n;
}

int cable_next(struct cable *w, json_t **ret_head, const char **ret_data, size_t *ret_n)
{
	const char *head;
	size_t nhead;

	if (w->taken >= w->from.n)
		return 0;
	ssize_t n = frame_next(w->from.text + w->taken, w->from.n - w->taken, WIRE_FRAME_MAX, &head, &nhead, ret_data,
			       ret_n);
	if (n <= 0)
		return n < 0 ? -EBADMSG : 0;
	*ret_head = json_loadb(head, nhead, 0, NULL);
	if (!json_is_object(*ret_head)) {
		json_decref(*ret_head);
		return -EBADMSG;
	}
	w->taken += (size_t)n;
	return 1;
}

void cable_put(struct cable *w, json_t *head, const void *data, size_t n)
{
	char *text = json_dumps(head, JSON_COMPACT);

	if (text)
		frame_put(&w->to, text, strlen(text), data, n);
	free(text);
	json_decref(head);
}

void cable_pack(struct cable *w, const void *data, size_t n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	cable_put(w, json_vpack_ex(NULL, 0, fmt, ap), data, n);
	va_end(ap);
}

bool cable_full(const struct cable *w)
{
	return w->to.n - w->sent > WIRE_FULL;
}

bool cable_waits(const struct cable *w)
{
	return w->to.n > w->sent;
}

int cable_push(struct cable *w)
{
	while (cable_waits(w)) {
		ssize_t n = write(w->out, w->to.text + w->sent, w->to.n - w->sent);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
		w->sent += (size_t)n;
		trim(&w->to, &w->sent);
	}
	return 0;
}
