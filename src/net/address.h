/*
 * address.h - addresses as text, and listening sockets.
 */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

#define ADDRESS_SIZE 48 /* bytes of an address as text */

/* Writes the address as numeric text, without port; an IPv4-mapped IPv6 address as IPv4. "" for
 * a UNIX socket. */
void address_text(const struct sockaddr_storage *a, char *ret, size_t size);
/* Returns the key that limits count by. For IPv6 it covers the first 64 bits, since a client
 * with one such address has all of them. */
uint64_t address_key(const char *address);

void socket_tune(int fd); /* sends small frames at once and detects vanished peers */

/* Listens at `where`, in both families if no address is named, on one port number ("0": any free
 * one). Returns the number of descriptors, or -errno with a message. */
int sockets_listen(const char *where, int ret_fd[2], int *ret_port, struct err *err);

#endif
