/*
 * discover.h - stations of one network find each other by multicast: a newcomer asks for the pool of its token, stations say where they are.
 *
 *	shunt-pool 1 ? FINGERPRINT - 0
 *	shunt-pool 1 ! FINGERPRINT NAME PORT
 *
 * Nothing here is authenticated: an answer says where to try, and TLS shows who is there.
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
#define DISCOVER_PRINT 32 /* digits of the authority's fingerprint, as a token has them */

struct discover {
	bool asks;
	char print[DISCOVER_PRINT + 1], name[PEER_NAME_SIZE];
	int port;
};
size_t discover_write(const struct discover *d, char ret[DISCOVER_SIZE]);
int discover_read(const char *text, size_t n, struct discover *ret); /* -EINVAL */

/* A socket, non-blocking; with `listen` in the group, on all interfaces. -errno. */
int discover_open(bool listen);
void discover_send(int fd, const struct discover *d); /* to all, by every interface */
void discover_answer(int fd, const struct discover *d, const struct sockaddr_in *to);
/* What came, and from where: 1; 0: nothing more. */
int discover_take(int fd, struct discover *ret, struct sockaddr_in *ret_from);

#endif
