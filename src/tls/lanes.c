/*
 * lanes.c - see lanes.h.
 */
#include "tls/lanes.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "tls/tls.h"

static void lane_read(struct lane *l, ssize_t n)
{
	l->at = 0;
	l->n = n > 0 ? (size_t)n : 0;
	l->ended = n == 0 || (n < 0 && n != -EAGAIN && n != -EINTR);
}

static ssize_t result(ssize_t n)
{
	return n < 0 ? -errno : n;
}

bool lanes_move(struct tls *t, int fd, struct lane *up, struct lane *down, bool *ret_more)
{
	bool more = false, over = false;
	ssize_t n = 0;

	up->lacks = down->lacks = 0;
	if (up->at == up->n && !up->ended) {
		lane_read(up, result(recv(fd, up->buf, sizeof up->buf, MSG_DONTWAIT)));
		more = up->n > 0;
	}
	while (up->at < up->n && (n = tls_write(t, up->buf + up->at, up->n - up->at)) > 0)
		up->at += (size_t)n;
	if (up->at < up->n) {
		up->lacks = tls_events(t);
		more = false;
		over = n != -EAGAIN; /* what was read from TLS is still written */
	}

	if (down->at == down->n && !down->ended) {
		lane_read(down, tls_read(t, down->buf, sizeof down->buf));
		down->lacks = down->n == 0 ? tls_events(t) : 0;
		more = more || down->n > 0;
	}
	while (down->at < down->n &&
	       (n = result(send(fd, down->buf + down->at, down->n - down->at, MSG_DONTWAIT | MSG_NOSIGNAL))) > 0)
		down->at += (size_t)n;
	if (down->at < down->n && n != -EAGAIN && n != -EINTR)
		down->at = down->n; /* the reader is gone; the other direction may still matter */
	if (ret_more)
		*ret_more = more;
	return !over && !(up->ended && up->at == up->n) && !(down->ended && down->at == down->n);
}
