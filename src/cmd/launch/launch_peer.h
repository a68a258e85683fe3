/*
 * launch_peer.h - a shunt-pmix on a host, as a child of the launcher: the program itself on this
 * host; for another host a relaying process, or the command in $SHUNT_LAUNCH_TRANSPORT.
 */
#ifndef CMD_LAUNCH_PEER_H
#define CMD_LAUNCH_PEER_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/launch/taskclient.h"
#include "pmix/cable.h"

struct peer {
	uint32_t host;
	pid_t pid;
	struct cable cable;
	size_t left; /* number of ranks that have not ended */
	bool closed;
};

/* Starts a peer. `others` were started before, and the child must not hold them open. `mask` is the
 * child's signal mask. */
int peer_start(struct peer *p, const struct peer *others, size_t n, const char *node, const sigset_t *mask,
	       struct err *err);

#endif
