/*
 * relay.h - a relay on a cluster's front end, for workers on nodes without a route to their broker: it carries bytes between its own TCP port and the broker's.
 *
 * Worker and broker talk TLS through it, and know each other by the credential: a relay can neither read nor join. It has no say in who comes; the broker's
 * gate ends connections that have not proved themselves within seconds.
 */
#ifndef BAG_RELAY_H
#define BAG_RELAY_H

#include "bag/credential.h"

/* A listening socket on `port`, 0: any that is free. -errno with a sentence. */
int relay_listen(int port, int *ret_port, struct err *err);
/* Runs until the broker has ended, SIGTERM or SIGINT. -errno with a sentence: the broker could not be reached for ten minutes. */
int relay_run(int listener, const struct credential *broker, struct err *err);

#endif
