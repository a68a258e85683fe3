/*
 * link_connect.c - connects a link: resolves the host, tries its addresses in turn, and begins TLS
 * with the first that answers.
 *
 * A numeric address is used directly. A lookup runs in libuv's thread pool and can't always be
 * cancelled, so its memory is separate from the link, which may be gone when it ends.
 */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/tcp.h"
#include "net/address.h"
#include "net/handle.h"
#include "net/link_internal.h"

/* One address being tried. */
struct attempt {
	uv_poll_t poll;
	struct dial *dial;
	int fd;
};

struct dial {
	struct link *link; /* NULL: dropped; only the end of the lookup is missing */
	struct tls_context *tls;
	enum cert_role expect;
	char *where;
	uv_getaddrinfo_t lookup;
	bool looks;
	struct addrinfo *found, *next; /* next: the next one to try */
	struct attempt *attempt;
	int error; /* error of the last address tried */
};

static void dial_free(struct dial *d)
{
	uv_freeaddrinfo(d->found);
	tls_context_free(d->tls);
	free(d->where);
	free(d);
}

/* Returns the descriptor, which the caller now owns. */
static int attempt_end(struct dial *d)
{
	int fd = d->attempt->fd;

	uv_close((uv_handle_t *)&d->attempt->poll, handle_data_free);
	d->attempt = NULL;
	return fd;
}

void dial_drop(struct dial *d)
{
	d->link = NULL;
	if (d->attempt)
		close(attempt_end(d));
	if (d->looks)
		uv_cancel((uv_req_t *)&d->lookup);
	else
		dial_free(d);
}

static void on_lookup_late(uv_timer_t *timer)
{
	struct link *l = timer->data;

	link_fail(l, "looking up the address of %s took more than %d s", l->dial->where, STEP_MS / 1000);
}

static void dial_next(struct dial *d);

/* Continues as a link over this socket. */
static void dial_done(struct dial *d, int fd)
{
	struct link *l = d->link;
	struct tls *tls;
	struct err err;

	if (tls_start(d->tls, fd, TLS_FRAMES, d->expect, &tls, &err) < 0) {
		close(fd);
		link_fail(l, "%s: %s", d->where, err.text);
		return;
	}
	l->dial = NULL;
	dial_free(d);
	link_begin(l, fd, tls, false);
}

static void on_connected(uv_poll_t *poll, int status, int events)
{
	struct attempt *a = poll->data;
	struct dial *d = a->dial;
	int fd = attempt_end(d), error = 0;
	socklen_t n = sizeof error;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0)
		error = errno;
	if (error == 0) {
		dial_done(d, fd);
		return;
	}
	close(fd);
	d->error = error;
	dial_next(d);
}

static void on_attempt_late(uv_timer_t *timer)
{
	struct link *l = timer->data;

	close(attempt_end(l->dial));
	l->dial->error = ETIMEDOUT;
	dial_next(l->dial);
}

static int address_try(struct dial *d, const struct addrinfo *ai)
{
	struct link *l = d->link;
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, ai->ai_addr, ai->ai_addrlen) < 0 && errno != EINPROGRESS) {
		int error = errno;
		close(fd);
		return -error;
	}
	d->attempt = mem_zalloc(sizeof *d->attempt);
	*d->attempt = (struct attempt){.dial = d, .fd = fd};
	uv_poll_init(l->loop, &d->attempt->poll, fd);
	d->attempt->poll.data = d->attempt;
	uv_poll_start(&d->attempt->poll, UV_WRITABLE, on_connected);
	if (!l->closing)
		uv_timer_start(&l->timer, on_attempt_late, STEP_MS, 0);
	return 0;
}

static void dial_next(struct dial *d)
{
	while (d->next) {
		const struct addrinfo *ai = d->next;
		d->next = ai->ai_next;
		int rc = address_try(d, ai);
		if (rc == 0)
			return;
		d->error = -rc;
	}
	link_fail(d->link, "can't connect to %s: %s", d->where, strerror(d->error));
}

static void on_found(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found)
{
	struct dial *d = lookup->data;

	d->looks = false;
	d->found = d->next = found;
	if (!d->link)
		dial_free(d);
	else if (status < 0)
		link_fail(d->link, "can't find the address of %s: %s", d->where, uv_strerror(status));
	else
		dial_next(d);
}

struct link *link_connect(uv_loop_t *loop, struct tls_context *c, const char *where, enum cert_role expect,
			  const struct link_events *e, void *context)
{
	struct link *l = link_create(loop, e, context);
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM},
			      numbers = {.ai_family = AF_UNSPEC,
					 .ai_socktype = SOCK_STREAM,
					 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	struct addrinfo *found;
	char host[256], port[8];
	struct err err;

	if (where_parse(where, host, sizeof host, port, sizeof port, &err) < 0 || !*host) {
		link_fail(l, "%s: give a host and a port, as in n1:7722 or [::1]:7722", where);
		return l;
	}
	struct dial *d = l->dial = mem_zalloc(sizeof *d);
	*d = (struct dial){.link = l, .tls = tls_context_ref(c), .expect = expect, .where = mem_strdup(where)};
	if (getaddrinfo(host, port, &numbers, &found) == 0) { /* numeric, as most are: no lookup is needed */
		d->found = d->next = found;
		dial_next(d);
		return l;
	}
	d->lookup.data = d;
	int rc = uv_getaddrinfo(loop, &d->lookup, on_found, host, port, &hints);
	if (rc < 0) {
		link_fail(l, "can't find the address of %s: %s", where, uv_strerror(rc));
		return l;
	}
	d->looks = true;
	uv_timer_start(&l->timer, on_lookup_late, STEP_MS, 0);
	return l;
}
