/*
 * shepherd.h - one attempt of a job, from its order to its result; a process of its own, forked by
 * the nursery.
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
	int dir;	       /* LIVE */
	const char *live_path; /* path of LIVE */
	int datagrams;	       /* socket from which to send the result */
	const char *socket;    /* path of the socket to send it to */
	const struct cgroup *cgroup;
	const struct identity *who;
	/* the job's environment; made before the fork, since every page that a shepherd writes must
	 * be copied */
	char **env;
};

noreturn void shepherd_main(const struct order *o, const struct shepherd_place *place);

/* Shepherds wait for SIGCHLD, SIGTERM and this signal (blocked in the nursery, so none is missed).
 * Its value is the signal to send to the job or, if negative, the seconds that the job may run
 * instead of its order's walltime; shepherds of older versions ignore values that are not signals.
 * It is a real-time signal, so several are queued in order. */
#define SHEPHERD_SIGNAL SIGRTMIN
void shepherd_signals(sigset_t *ret);
/* Waits for one of them until that instant (or INT64_MAX); returns 0 if none came. */
int shepherd_pause(int64_t until, siginfo_t *ret);
/* Handles what shepherd_pause() returned before the job's first process exists, so that it is not
 * lost. Returns true if the attempt must end now, also for an order to save and end, since there is
 * no work to save yet. An order to suspend the job is remembered. */
bool shepherd_early(int signal, const siginfo_t *info);
bool shepherd_paused_early(void);

#endif
