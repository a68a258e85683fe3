/*
 * relay.h - relays bytes between two connections: sockets, or a socket and a link, which carries
 * them as `data` frames.
 *
 * It buffers little: a side that sends too fast is not read. If a side only announces that nothing
 * more comes (it shuts down its direction; `end` on a link), that is passed on, and the other
 * direction continues. If a side closes altogether, or breaks, the relay ends; the endpoints repeat
 * what is lost (run/pty.h).
 */
#ifndef ENGINE_RELAY_H
#define ENGINE_RELAY_H

#include "net/link.h"

struct relay;

struct relay_end {
	int fd;			       /* a socket; the relay owns it */
	void (*release)(void *handle); /* gives the descriptor back; NULL: it is closed */
	void *handle;
	bool final; /* any end is intentional: the peer will not come back */
};

/* Create a relay. `ended` is called once when it ends by itself: never from inside these, and not
 * after relay_close(). */
struct relay *relay_sockets(uv_loop_t *loop, const struct relay_end *a, const struct relay_end *b,
			    void (*ended)(void *context), void *context);
/* Takes over the link, which may be paused. */
struct relay *relay_link(uv_loop_t *loop, const struct relay_end *a, struct link *l, void (*ended)(void *context),
			 void *context);
void relay_close(struct relay *r); /* closes both sides; NULL is allowed */

#endif
