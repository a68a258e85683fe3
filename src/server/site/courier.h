/*
 * courier.h - the process that talks to other sites: `shunt courier`, a client of this server over
 * its socket, and of the sites over TLS.
 *
 * It has no state: its tasks are the server's state, and everything it does can be repeated. It is
 * started when there is work, and exits when it loses the server or has nothing to do.
 */
#ifndef SERVER_COURIER_H
#define SERVER_COURIER_H

#include <stdbool.h>
#include <stddef.h>

struct server;

/* Starts the courier if needed; called once a turn. `work`: some job is to leave, or is away. */
void courier_turn(struct server *s, bool work);
/* Does the same for `shunt keeper`, which requests nodes from other clusters
 * (settings/overlays.h). `work`: there are overlays. */
void keeper_turn(struct server *s, bool work);
void courier_end(struct server *s);
/* Writes the path of the program `shunt` that belongs to this server. */
void shunt_beside(const struct server *s, char *ret, size_t size);

#endif
