/*
 * tcp.h - hosts and ports as text, and TCP sockets for programs that may block.
 */
#ifndef BASE_TCP_H
#define BASE_TCP_H

#include <stddef.h>
#include <stdint.h>

struct err;

/* Parses "host:port", "[v6]:port", or "port" alone, which leaves the host "". Returns 0, or -EINVAL
 * with a message. */
int where_parse(const char *where, char *ret_host, size_t host_size, char *ret_port, size_t port_size, struct err *err);

/* Connects to the first address of a host that accepts, waiting for each at most `ms`. Returns a
 * non-blocking socket that sends small messages at once, or -errno with a message: that of the last
 * address which this machine can route to, or -EHOSTUNREACH if the host has none. */
int tcp_reach(const char *host, const char *port, int64_t ms, struct err *err);

/* Listens on a port of all addresses, by one socket for IPv6 and IPv4, or for IPv4 alone where this
 * machine has no IPv6; 0: any free port. Returns a non-blocking socket, or -errno with a
 * message. */
int tcp_listen(int port, int *ret_port, struct err *err);

#endif
