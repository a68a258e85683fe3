/*
 * pump.h - copies bytes between TLS and a plain socket, both ways, so that HTTP, which has no TLS,
 * can be served over it.
 */
#ifndef NET_PUMP_H
#define NET_PUMP_H

#include <uv.h>

#include "tls/tls.h"

struct pump;

/* Takes over `tls`, whose handshake is done, and the socket `fd`. A client that does not accept
 * what is sent to it for `stall_seconds` is cut off; silent clients are left to the plain side.
 * `ended` is the last call, from a loop phase of its own. */
struct pump *pump_start(uv_loop_t *loop, struct tls *tls, int fd, int stall_seconds, void (*ended)(void *context),
			void *context);
void pump_stop(struct pump *p); /* `ended` follows */
/* Returns true if the plain side has ended and only the client's hang-up is awaited. */
bool pump_lingers(const struct pump *p);

#endif
