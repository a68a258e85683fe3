/*
 * lanes.h - copies bytes between a socket and a TLS connection, in both directions.
 */
#ifndef TLS_LANES_H
#define TLS_LANES_H

#include <stdbool.h>
#include <stddef.h>

struct tls;

/* One direction: bytes that were read but not written yet. */
struct lane {
	char buf[16384];
	size_t at, n;
	bool ended;  /* no more input follows */
	short lacks; /* poll events that TLS needs before it can continue */
};

/* Copies what can be copied without waiting: `up` from the socket to TLS, `down` back. Sets
 * *ret_more (may be NULL) if there may be more at once. Returns false when the connection is
 * over. */
bool lanes_move(struct tls *t, int fd, struct lane *up, struct lane *down, bool *ret_more);

#endif
