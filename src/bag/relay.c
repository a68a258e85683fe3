/*
 * relay.c - see relay.h.
 */
#include "bag/relay.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/mem.h"
#include "base/tcp.h"
#include "base/ticks.h"
#include "base/vec.h"

enum {
	PAIRS_MOST = 2000,
	CONNECT_MS = 5000, /* for one address of the broker */
	PROBE = 2,	   /* seconds between checks for the broker while nothing is connected */
	LOST = 600,	   /* seconds without a broker, after which a worker gives up as well */
};

/* Bytes from one side for the other. */
struct lane {
	char buf[16384];
	size_t at, n;
	bool ended, told; /* nothing more comes; the other side was notified */
};

struct pair {
	int fd[2]; /* worker, broker */
	struct lane lane[2];
};

struct relay {
	const struct credential *broker;
	int listener, signals;
	VEC(struct pair *) pairs;
};

/* Connects to "HOST:PORT" or "[ADDRESS]:PORT". -ECONNREFUSED: nothing listens there. */
static int place_connect(const char *where)
{
	char host[256], port[8];
	int rc = where_parse(where, host, sizeof host, port, sizeof port, NULL);

	return rc < 0 ? rc : tcp_reach(host, port, CONNECT_MS, NULL);
}

/* Connects to the first address that answers. -ECONNREFUSED: the host answers, but the broker is
 * gone. */
static int broker_connect(const struct credential *c)
{
	int fd = -EINVAL, refused = 0;

	for (int i = 0; i < c->nwhere && fd < 0; i++) {
		fd = place_connect(c->where[i]);
		refused |= fd == -ECONNREFUSED;
	}
	return fd < 0 && refused ? -ECONNREFUSED : fd;
}

static void pair_close(struct relay *r, size_t at)
{
	struct pair *p = r->pairs.v[at];

	close(p->fd[0]);
	close(p->fd[1]);
	free(p);
	vec_remove(&r->pairs, at);
}

static void pair_accept(struct relay *r)
{
	int fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	int to = r->pairs.n < PAIRS_MOST ? broker_connect(r->broker) : -EMFILE;
	if (to < 0) {
		close(fd);
		return;
	}
	struct pair *p = mem_zalloc(sizeof *p);
	p->fd[0] = fd;
	p->fd[1] = to;
	for (int i = 0, on = 1; i < 2; i++) {
		setsockopt(p->fd[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		setsockopt(p->fd[i], SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	}
	vec_push(&r->pairs, p);
}

/* Moves as many bytes as possible from one side to the other. Returns false if the connection is
 * broken. */
static bool lane_move(const struct pair *p, struct lane *l, int from)
{
	if (l->n == 0 && !l->ended) {
		ssize_t n = recv(p->fd[from], l->buf, sizeof l->buf, 0);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		l->at = 0;
		l->n = n > 0 ? (size_t)n : 0;
		l->ended = n == 0;
	}
	if (l->n > 0) {
		ssize_t n = send(p->fd[!from], l->buf + l->at, l->n, MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		l->at += n > 0 ? (size_t)n : 0;
		l->n -= n > 0 ? (size_t)n : 0;
	}
	if (l->ended && l->n == 0 && !l->told) {
		shutdown(p->fd[!from], SHUT_WR);
		l->told = true;
	}
	return true;
}

/* Returns the events to wait for at one end: readable if its lane is empty, writable if bytes
 * are waiting for it. */
static short wanted(const struct pair *p, int side)
{
	return (short)((p->lane[side].n == 0 && !p->lane[side].ended ? POLLIN : 0) |
		       (p->lane[!side].n > 0 ? POLLOUT : 0));
}

static void pairs_move(struct relay *r, const struct pollfd *polled)
{
	for (size_t i = r->pairs.n; i-- > 0;) {
		struct pair *p = r->pairs.v[i];
		bool any = polled[2 * i].revents || polled[2 * i + 1].revents, good = true;
		/* everything was read, and it receives no more */
		for (int side = 0; side < 2; side++)
			if ((polled[2 * i + (size_t)side].revents & (POLLERR | POLLHUP)) && p->lane[side].ended)
				good = false;
		good = good && (!any || (lane_move(p, &p->lane[0], 0) && lane_move(p, &p->lane[1], 1)));
		if (!good || (p->lane[0].told && p->lane[1].told))
			pair_close(r, i);
	}
}

/* Returns 0 to continue, if the broker is there or may come back, 1 if it has ended, or -errno. */
static int probe(const struct relay *r, int64_t *seen, struct err *err)
{
	int fd = r->pairs.n ? 0 : broker_connect(r->broker);

	if (fd > 0)
		close(fd);
	if (fd >= 0)
		*seen = clock_seconds(CLOCK_MONOTONIC);
	if (fd == -ECONNREFUSED)
		return 1;
	return clock_seconds(CLOCK_MONOTONIC) - *seen < LOST
		       ? 0
		       : err_set(err, -ETIMEDOUT, "the broker could not be reached for ten minutes");
}

static int loop(struct relay *r, struct err *err)
{
	int64_t seen = clock_seconds(CLOCK_MONOTONIC), next = seen;
	struct pollfd *p = NULL;
	int rc = 0;

	while (rc == 0) {
		size_t n = 2 * r->pairs.n;
		p = mem_realloc(p, n + 2, sizeof *p);
		for (size_t i = 0; i < n; i++)
			p[i] = (struct pollfd){.fd = r->pairs.v[i / 2]->fd[i % 2],
					       .events = wanted(r->pairs.v[i / 2], (int)(i % 2))};
		p[n] = (struct pollfd){.fd = r->listener, .events = POLLIN};
		p[n + 1] = (struct pollfd){.fd = r->signals, .events = POLLIN};
		if (poll(p, n + 2, 1000) < 0 && errno != EINTR)
			rc = err_set(err, -errno, "poll: %s", strerror(errno));
		if (rc < 0 || p[n + 1].revents)
			break;
		bool some = r->pairs.n > 0;
		pairs_move(r, p);
		if (some && r->pairs.n == 0) /* perhaps the broker has ended */
			next = 0;
		if (p[n].revents)
			pair_accept(r);
		if (clock_seconds(CLOCK_MONOTONIC) >= next) {
			rc = probe(r, &seen, err);
			next = clock_seconds(CLOCK_MONOTONIC) + PROBE;
		}
	}
	free(p);
	return rc < 0 ? rc : 0;
}

int relay_run(int listener, const struct credential *broker, struct err *err)
{
	struct relay r = {.listener = listener, .broker = broker};
	sigset_t set;

	descriptors_raise();
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	r.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	int rc = loop(&r, err);
	while (r.pairs.n)
		pair_close(&r, r.pairs.n - 1);
	vec_free(&r.pairs);
	close(r.signals);
	return rc;
}
