/*
 * tcp.c - see tcp.h.
 */
#include "base/tcp.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/ticks.h"

int where_parse(const char *where, char *ret_host, size_t host_size, char *ret_port, size_t port_size, struct err *err)
{
	const char *colon = strrchr(where, ':'), *port = colon ? colon + 1 : where, *host = where;
	size_t n = colon ? (size_t)(colon - where) : 0;
	char *end;

	if (n >= 2 && host[0] == '[' && host[n - 1] == ']') {
		host++;
		n -= 2;
	} else if (memchr(host, ':', n)) {
		return err_set(err, -EINVAL, "%s: write an IPv6 address in brackets: [ADDRESS]:PORT", where);
	}
	long number = strtol(port, &end, 10);
	if (*port < '0' || *port > '9' || *end || number > 65535 || strlen(port) >= port_size || n >= host_size)
		return err_set(err, -EINVAL, "%s: give a host and a port, as in n1:7722 or [::1]:7722", where);
	memcpy(ret_host, host, n);
	ret_host[n] = '\0';
	strcpy(ret_port, port);
	return 0;
}

/* ---- connecting ---- */

static int wait_for(int fd, short events, int64_t until)
{
	struct pollfd p = {.fd = fd, .events = events};
	int rc = -1;

	for (errno = EINTR; rc < 0 && errno == EINTR;) {
		int64_t left = until - clock_ms(CLOCK_MONOTONIC);
		rc = poll(&p, 1, left > 0 ? (int)left : 0);
	}
	return rc > 0 ? 0 : rc < 0 ? -errno : -ETIMEDOUT;
}

static int address_connect(const struct addrinfo *a, int64_t ms)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc = fd < 0 ? -errno : 0, code = 0, on = 1;
	socklen_t n = sizeof code;

	if (rc < 0)
		return rc;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
		rc = -errno;
		if (rc == -EINPROGRESS && (rc = wait_for(fd, POLLOUT, clock_ms(CLOCK_MONOTONIC) + ms)) == 0)
			rc = getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &n) < 0 ? -errno : -code;
	}
	if (rc < 0)
		close(fd);
	return rc < 0 ? rc : fd;
}

int tcp_reach(const char *host, const char *port, int64_t ms, struct err *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list;
	int rc = getaddrinfo(host, port, &hints, &list), fd = -EHOSTUNREACH;

	if (rc)
		return err_set(err, -EHOSTUNREACH, "%s: there is no such host: %s", host, gai_strerror(rc));
	for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		rc = address_connect(a, ms);
		if (a == list || (rc != -ENETUNREACH && rc != -EADDRNOTAVAIL && rc != -EAFNOSUPPORT))
			fd = rc;
	}
	freeaddrinfo(list);
	if (fd < 0)
		err_set(err, fd, strchr(host, ':') ? "[%s]:%s can't be reached: %s" : "%s:%s can't be reached: %s",
			host, port, strerror(-fd));
	return fd;
}

/* ---- listening ---- */

static int family_listen(const struct sockaddr *a, socklen_t n)
{
	const int on = 1, off = 0;
	int fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if ((a->sa_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) < 0) ||
	    bind(fd, a, n) < 0 || listen(fd, SOMAXCONN) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

int tcp_listen(int port, int *ret_port, struct err *err)
{
	struct sockaddr_in6 six = {
		.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = IN6ADDR_ANY_INIT};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	socklen_t n = sizeof six;
	int fd = family_listen((struct sockaddr *)&six, sizeof six);

	if (fd < 0 && fd != -EADDRINUSE)
		fd = family_listen((struct sockaddr *)&four, sizeof four);
	if (fd < 0)
		return err_set(err, fd, "port %d: %s", port, strerror(-fd));
	getsockname(fd, (struct sockaddr *)&six, &n);
	*ret_port = ntohs(six.sin6_port); /* at the same offset in both structs */
	return fd;
}
