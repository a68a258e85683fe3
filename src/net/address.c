/*
 * address.c - hosts and ports as text, and what sockets over TCP are given.
 */
#include "net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

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
		       {IPPROTO_TCP, TCP_KEEPIDLE, 60}, /* seconds; two minutes until it is found out */
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
