/*
 * relay.h - carries bytes between two connections: sockets, or a socket and a link, on which they go as `data` frames.
 *
 * It holds little: who is too fast is not read. A side that only says that nothing more comes (it shuts its direction; `end` on a link) is
 * passed on as that, and the other direction goes on. A side that is closed altogether, or broke, ends it all: what is lost then, the ends
 * say again (run/pty.h).
 */
#ifndef ENGINE_RELAY_H
#define ENGINE_RELAY_H

#include "net/link.h"

struct relay;

struct relay_end {
	int fd;			       /* a socket; taken over */
	void (*release)(void *handle); /* gives it back; NULL: it is closed */
	void *handle;
	bool final; /* however it ends, that was meant: nobody comes back */
};

/* `ended` is called once, when it is over by itself: never from inside these, and not after relay_close(). */
struct relay *relay_sockets(uv_loop_t *loop, const struct relay_end *a, const struct relay_end *b,
			    void (*ended)(void *context), void *context);
/* The link is taken over; it may be paused. */
struct relay *relay_link(uv_loop_t *loop, const struct relay_end *a, struct link *l, void (*ended)(void *context),
			 void *context);
void relay_close(struct relay *r); /* both sides; NULL is none */

#endif
