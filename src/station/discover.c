/*
 * discover.c - see discover.h.
 */
#include "station/discover.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

size_t discover_write(const struct discover *d, char ret[DISCOVER_SIZE])
{
	return (size_t)snprintf(ret, DISCOVER_SIZE, "shunt-pool 1 %c %s %s %d", d->asks ? '?' : '!', d->print,
				d->asks ? "-" : d->name, d->port);
}

int discover_read(const char *text, size_t n, struct discover *ret)
{
	static const char name_allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	char line[DISCOVER_SIZE], kind, name[PEER_NAME_SIZE], print[DISCOVER_PRINT + 1];
	int port, end = 0;

	if (n >= sizeof line || memchr(text, '\0', n))
		return -EINVAL;
	memcpy(line, text, n);
	line[n] = '\0';
	if (sscanf(line, "shunt-pool 1 %c %32[0-9a-f] %63s %5d%n", &kind, print, name, &port, &end) != 4 ||
	    (size_t)end != n || (kind != '?' && kind != '!') || strlen(print) != DISCOVER_PRINT || port < 0 ||
	    port > 65535 || (kind == '!' && !port) || strspn(name, name_allowed) != strlen(name))
		return -EINVAL;
	*ret = (struct discover){.asks = kind == '?', .port = port};
	memcpy(ret->print, print, sizeof ret->print);
	memcpy(ret->name, name, sizeof ret->name);
	return 0;
}

/* ---- sockets ---- */

static void each_interface(int fd, void (*one)(int fd, struct in_addr interface, const void *context),
			   const void *context)
{
	struct ifaddrs *list;

	if (getifaddrs(&list) < 0)
		return;
	for (const struct ifaddrs *i = list; i; i = i->ifa_next)
		if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET)
			one(fd, ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr, context);
	freeifaddrs(list);
}

static void group_enter(int fd, struct in_addr interface, const void *context)
{
	struct ip_mreq group = {.imr_interface = interface};

	inet_pton(AF_INET, DISCOVER_GROUP, &group.imr_multiaddr);
	/* fails on an interface without multicast */
	setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group);
}

int discover_open(bool listen)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(listen ? DISCOVER_PORT : 0)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
	if (bind(fd, (struct sockaddr *)&here, sizeof here) < 0) {
		int error = errno;
		close(fd);
		return -error;
	}
	if (listen)
		each_interface(fd, group_enter, NULL);
	return fd;
}

void discover_answer(int fd, const struct discover *d, const struct sockaddr_in *to)
{
	char text[DISCOVER_SIZE];
	size_t n = discover_write(d, text);

	sendto(fd, text, n, MSG_DONTWAIT, (const struct sockaddr *)to, sizeof *to);
}

static void group_send(int fd, struct in_addr interface, const void *context)
{
	struct sockaddr_in group = {.sin_family = AF_INET, .sin_port = htons(DISCOVER_PORT)};
	const struct discover *d = context;

	if (d->only.s_addr != INADDR_ANY && d->only.s_addr != interface.s_addr)
		return; /* others would take the interface's address for ours */
	inet_pton(AF_INET, DISCOVER_GROUP, &group.sin_addr);
	if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &interface, sizeof interface) == 0)
		discover_answer(fd, d, &group);
}

void discover_send(int fd, const struct discover *d)
{
	each_interface(fd, group_send, d);
}

int discover_take(int fd, struct discover *ret, struct sockaddr_in *ret_from)
{
	char text[DISCOVER_SIZE];

	for (int i = 0; i < 100; i++) { /* bounded, so that invalid messages cannot keep us here */
		socklen_t size = sizeof *ret_from;
		ssize_t n = recvfrom(fd, text, sizeof text, MSG_DONTWAIT, (struct sockaddr *)ret_from, &size);
		if (n < 0)
			return 0;
		if (discover_read(text, (size_t)n, ret) == 0)
			return 1;
	}
	return 0;
}
