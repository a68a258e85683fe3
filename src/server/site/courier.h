/*
 * courier.h - the process that talks to other sites: `shunt courier`, a client of this server by its socket, and of the sites over TLS. It keeps nothing: what is
 * to be done is the server's state, and whatever it did can be done again. It is started when there is something to do, and ends when it hears nothing more from the
 * server, or has nothing to do.
 */
#ifndef SERVER_COURIER_H
#define SERVER_COURIER_H

#include <stdbool.h>
#include <stddef.h>

struct server;

/* Once a turn. `work`: some job is to leave, or is away. */
void courier_turn(struct server *s, bool work);
/* The same of `shunt keeper`, which requests nodes from other clusters (settings/overlays.h). `work`: there are overlays. */
void keeper_turn(struct server *s, bool work);
void courier_end(struct server *s);
/* The program `shunt` that belongs to this server. */
void shunt_beside(const struct server *s, char *ret, size_t size);

#endif
