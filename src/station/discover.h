/*
 * discover.h - lets stations of one network find each other by multicast. A newcomer asks for the
 * pool of its token; stations announce where they are.
 *
 *	shunt-pool 1 ? FINGERPRINT - 0
 *	shunt-pool 1 ! FINGERPRINT NAME PORT
 *
 * Nothing here is authenticated: an answer is an address to try, and TLS verifies who is there.
 */
#ifndef STATION_DISCOVER_H
#define STATION_DISCOVER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "station/peer.h"

#define DISCOVER_GROUP "239.255.77.24"
#define DISCOVER_PORT 7724
#define DISCOVER_SIZE 256
#define DISCOVER_PRINT 32 /* digits of the authority's fingerprint, as in a token */

struct discover {
	bool asks;
	char print[DISCOVER_PRINT + 1], name[PEER_NAME_SIZE];
	int port;
	/* the only address where the sender listens, not part of a message; INADDR_ANY: all */
	struct in_addr only;
};
size_t discover_write(const struct discover *d, char ret[DISCOVER_SIZE]);
int discover_read(const char *text, size_t n, struct discover *ret); /* returns 0 or -EINVAL */

/* Opens a non-blocking socket; with `listen` it joins the group on all interfaces. Returns
 * -errno on failure. */
int discover_open(bool listen);
/* Sends to the group through every interface where the sender listens. */
void discover_send(int fd, const struct discover *d);
void discover_answer(int fd, const struct discover *d, const struct sockaddr_in *to);
/* Receives one message and its sender's address: returns 1, or 0 if none is left. */
int discover_take(int fd, struct discover *ret, struct sockaddr_in *ret_from);

#endif
