/*
 * launch_peer.h - a shunt-pmix on a host, as a child of the launcher: the program itself on this
 * host; on another a process that relays, or what $SHUNT_LAUNCH_TRANSPORT says.
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
	size_t left; /* ranks that have not ended */
	bool closed;
};

/* `others`: those that were started before, which the child must not hold open. `mask`: of signals,
 * for the child. */
int peer_start(struct peer *p, const struct peer *others, size_t n, const char *node, const sigset_t *mask,
	       struct err *err);

#endif
