/*
 * pump.h - carries bytes between TLS and a plain socket, both ways: so that HTTP, which knows no TLS, can be served over it.
 */
#ifndef NET_PUMP_H
#define NET_PUMP_H

#include <uv.h>

#include "tls/tls.h"

struct pump;

/* `tls`, whose handshake is done, and the socket `fd` are taken over. A client that does not take what is sent to it for `stall_seconds` is cut off; silence is the
 * plain side's affair. `ended` is the last call, from a phase of the loop of its own. */
struct pump *pump_start(uv_loop_t *loop, struct tls *tls, int fd, int stall_seconds, void (*ended)(void *context),
			void *context);
void pump_stop(struct pump *p); /* `ended` follows */
/* Returns true if the plain side has ended, and only the client's hang-up is waited for. */
bool pump_lingers(const struct pump *p);

#endif
