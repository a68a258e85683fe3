/*
 * address.c - addresses as text, and listening sockets.
 */
#include "net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/tcp.h"

#define TRIES 16 /* tries to find a number that is free in both families */

void address_text(const struct sockaddr_storage *a, char *ret, size_t size)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)a;

	ret[0] = '\0';
	if (a->ss_family == AF_INET)
		inet_ntop(AF_INET, &v4->sin_addr, ret, (socklen_t)size);
	else if (a->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], ret, (socklen_t)size);
	else if (a->ss_family == AF_INET6)
		inet_ntop(AF_INET6, &v6->sin6_addr, ret, (socklen_t)size);
}

void socket_tune(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {{IPPROTO_TCP, TCP_NODELAY, 1},
		       {SOL_SOCKET, SO_KEEPALIVE, 1},
		       /* seconds; a dead peer is detected after two minutes */
		       {IPPROTO_TCP, TCP_KEEPIDLE, 60},
		       {IPPROTO_TCP, TCP_KEEPINTVL, 15},
		       {IPPROTO_TCP, TCP_KEEPCNT, 4}};

	for (size_t i = 0; i < sizeof options / sizeof *options;
	     i++) /* a UNIX socket has none of these, and needs none */
		setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof options[i].value);
}

uint64_t address_key(const char *address)
{
	struct in6_addr v6;

	if (inet_pton(AF_INET6, address, &v6) == 1)
		return hash_bytes(&v6, 8);
	return hash_bytes(address, strlen(address));
}

/* ---- listening sockets ---- */

/* Sockets opened so far. */
struct opened {
	int fd[2], n;
};

static int socket_listen(const struct addrinfo *ai)
{
	const int on = 1;
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), rc = 0;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	/* the other family has its own socket, or was not requested */
	if (ai->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0)
		rc = -errno;
	if (rc < 0)
		close(fd);
	return rc < 0 ? rc : fd;
}

static void port_set(struct sockaddr *a, int number)
{
	if (a->sa_family == AF_INET6)
		((struct sockaddr_in6 *)a)->sin6_port = htons((uint16_t)number);
	else
		((struct sockaddr_in *)a)->sin_port = htons((uint16_t)number);
}

static int port_get(int fd)
{
	struct sockaddr_storage a = {.ss_family = AF_UNSPEC};
	socklen_t n = sizeof a;

	getsockname(fd, (struct sockaddr *)&a, &n);
	return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
					     : ((struct sockaddr_in *)&a)->sin_port);
}

static void opened_close(struct opened *o)
{
	while (o->n > 0)
		close(o->fd[--o->n]);
}

/* Opens sockets for all addresses found, at most one of each family, with one port number. A family
 * that this machine lacks is left out. */
static int sockets_open(struct opened *o, struct addrinfo *found)
{
	int rc = -EADDRNOTAVAIL;

	for (struct addrinfo *ai = found; ai && o->n < 2; ai = ai->ai_next) {
		if (o->n > 0 && ai->ai_family == found->ai_family)
			continue;
		if (o->n > 0)
			port_set(ai->ai_addr, port_get(o->fd[0]));
		int fd = socket_listen(ai);
		if (fd >= 0) {
			o->fd[o->n++] = fd;
		} else if (fd != -EAFNOSUPPORT && fd != -EADDRNOTAVAIL) {
			opened_close(o);
			return fd;
		} else {
			rc = fd;
		}
	}
	return o->n > 0 ? 0 : rc;
}

int sockets_listen(const char *where, int ret_fd[2], int *ret_port, struct err *err)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct opened o = {.n = 0};
	char host[256], port[8];
	struct addrinfo *found;
	int rc = where_parse(where, host, sizeof host, port, sizeof port, err);

	if (rc < 0)
		return rc;
	rc = getaddrinfo(*host ? host : NULL, port, &hints, &found);
	if (rc != 0)
		return err_set(err, -EADDRNOTAVAIL, "can't listen on %s: %s", where, gai_strerror(rc));
	rc = sockets_open(&o, found);
	for (int i = 0; i < TRIES && rc == -EADDRINUSE && atoi(port) == 0; i++) {
		port_set(found->ai_addr, 0);
		/* the number that was free in one family was taken in the other */
		rc = sockets_open(&o, found);
	}
	freeaddrinfo(found);
	if (rc == -EADDRINUSE)
		return err_set(err, rc, "can't listen on %s: another program does; end it, or set another port", where);
	if (rc < 0)
		return err_set(err, rc, "can't listen on %s: %s", where, strerror(-rc));
	memcpy(ret_fd, o.fd, sizeof o.fd);
	*ret_port = port_get(o.fd[0]);
	return o.n;
}
