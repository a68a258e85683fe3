/*
 * address.h - hosts and ports as text, and the sockets of TCP.
 */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

#define ADDRESS_SIZE 48 /* as text */

/* "host:port", "[v6]:port", or "port" alone: then the host is "". -EINVAL with a sentence. */
int where_parse(const char *where, char *ret_host, size_t host_size, char *ret_port, size_t port_size, struct err *err);

/* Numeric, without port; an IPv4 address in IPv6's clothes as what it is. "" for a UNIX socket. */
void address_text(const struct sockaddr_storage *a, char *ret, size_t size);
/* Whose it is, for limits: of IPv6 the first 64 bits count, since whoever has one address there has all of these. */
uint64_t address_key(const char *address);

void socket_tune(int fd); /* small frames leave at once; a peer that vanished is found out */

/* Listens at `where`, in both families if no address is named, with one port number ("0": any that is free). Returns how many descriptors there are, or -errno and a
 * sentence. */
int sockets_listen(const char *where, int ret_fd[2], int *ret_port, struct err *err);

#endif
