/*
 * relay.h - a relay on a cluster's front end, for workers on nodes without a route to their broker:
 * it carries bytes between its own TCP port and the broker's.
 *
 * Worker and broker speak TLS through it, and authenticate each other by the credential, so a relay
 * can neither read nor join. It does not decide who may connect; the broker's gate closes
 * connections that do not authenticate within seconds.
 */
#ifndef BAG_RELAY_H
#define BAG_RELAY_H

#include "bag/credential.h"

/* Runs on a socket of tcp_listen() until the broker has ended, or SIGTERM or SIGINT. -errno: the
 * broker could not be reached for ten minutes. */
int relay_run(int listener, const struct credential *broker, struct err *err);

#endif
