/*
 * shepherd.h - one attempt of a job, from its order to its result; a process of its own, forked by the nursery.
 */
#ifndef RUN_SHEPHERD_H
#define RUN_SHEPHERD_H

#include <signal.h>
#include <stdint.h>
#include <stdnoreturn.h>

#include "run/cgroup.h"
#include "run/identity.h"
#include "run/lease.h"
#include "run/order.h"

struct shepherd_place {
	int live;	       /* LIVE/TAG, locked */
	int dir;	       /* LIVE; ... */
	const char *live_path; /* ... and its path */
	int datagrams;	       /* socket to send the result by; ... */
	const char *socket;    /* ... and where to */
	const struct cgroup *cgroup;
	const struct identity *who;
	char **env; /* of the job: made before the fork, since every page that a shepherd writes must be copied */
};

noreturn void shepherd_main(const struct order *o, const struct shepherd_place *place);

/* Signals that a shepherd listens to (blocked in the nursery, so none is missed): SIGCHLD, SIGTERM, and this, whose value is the
 * signal that the job is to get, or, negative, the seconds that it may run instead of its order's walltime. (An older shepherd ignores
 * what is not a signal.) A real-time one: several wait in their order. */
#define SHEPHERD_SIGNAL SIGRTMIN
void shepherd_signals(sigset_t *ret);
/* Waits for one of them until that instant (or INT64_MAX); 0 if none came. */
int shepherd_pause(int64_t until, siginfo_t *ret);
/* For everything that waits before the job's first process is there: what shepherd_pause() returned must not be lost. True: the attempt is to end now; an order to save its
 * work and end is one of these, as there is no work yet. That the job is to be paused is remembered. */
bool shepherd_early(int signal, const siginfo_t *info);
bool shepherd_paused_early(void);

#endif
