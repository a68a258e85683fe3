/*
 * lanes.h - bytes between a socket and a TLS connection, in both directions.
 */
#ifndef TLS_LANES_H
#define TLS_LANES_H

#include <stdbool.h>
#include <stddef.h>

struct tls;

/* One direction: what was read and not written yet. */
struct lane {
	char buf[16384];
	size_t at, n;
	bool ended;  /* nothing more comes */
	short lacks; /* of TLS: what to poll for until it goes on */
};

/* Moves what can be moved without waiting: `up` from the socket to TLS, `down` back. *ret_more: there may be more at once; may be NULL. False: it is over. */
bool lanes_move(struct tls *t, int fd, struct lane *up, struct lane *down, bool *ret_more);

#endif
