/*
 * actor.h - a daemon of the machine that a test plays: it listens at a socket, prints what programs
 * say to it, lines, frames (base/frame.h) or questions to a broker (bag/wire.h), and answers what
 * the test wants.
 */
#ifndef SUPPORT_ACTOR_H
#define SUPPORT_ACTOR_H

#include <poll.h>

#include "base/strbuf.h"

struct actor;

/* Listens at a path. Cues are added to it until it is closed. */
struct actor *actor_open(const char *path);
void actor_close(struct actor *a);
const char *actor_path(const struct actor *a);

/* Says what is answered to the next line whose first word is `cue`, or the next frame of that type:
 * frames "{HEAD} DATA", a line that ends the connection, or "close", "-" (nothing), "kill N" (a
 * signal to the program); several are joined by " && ". Each cue is used once. */
void actor_cue(struct actor *a, const char *cue, const char *answer);

/* Does what its sockets, polled[0] and [1], are ready for; prints what was said to it. */
void actor_poll(const struct actor *a, struct pollfd polled[2]);
void actor_serve(struct actor *a, const struct pollfd polled[2], struct strbuf *said);

#endif
