/*
 * shepherd.h - one attempt of a job, from its order to its result; a process of its own, forked by
 * the nursery. It takes further orders, one at a time, while its attempts are ordinary ones.
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
	/* ---- the same for all attempts ---- */
	int dir;	       /* LIVE */
	const char *live_path; /* path of LIVE */
	int datagrams;	       /* socket from which to send to the server */
	const char *socket;    /* path of the socket to send to */
	const struct cgroup *cgroup;
	const struct identity *server; /* owner of LIVE */
	int orders;		       /* socket for further orders and signals; -1: there will be none */
	int reports;		       /* socket to the nursery */
	size_t slot;		       /* number of the shepherd in its reports */
	/* ---- of an attempt ---- */
	int live; /* LIVE/TAG, locked */
	const struct identity *who;
	char **env; /* the job's environment */
};

struct handover;
/* Runs the first order, then those that follow. */
noreturn void shepherd_main(const struct handover *first, const struct shepherd_place *place);

/* Shepherds wait for SIGCHLD, SIGTERM and this signal (blocked in the nursery, so none is missed).
 * Its value is the signal to send to the job or, if negative, the seconds that the job may run
 * instead of its order's walltime; shepherds of older versions ignore values that are not signals.
 * It is a real-time signal, so several are queued in order. A shepherd that takes further orders
 * gets the value in a message that names the attempt (handover.h), as long as its nursery lives:
 * the signal only announces it. */
#define SHEPHERD_SIGNAL SIGRTMIN
void shepherd_signals(sigset_t *ret);
/* Forgets the signals of the previous attempt; messages on `orders` (-1: none) for `tag` count from
 * now on. */
void shepherd_listen(const char *tag, int orders);
/* Waits for one of them until that instant (or INT64_MAX); returns 0 if none came. */
int shepherd_pause(int64_t until, siginfo_t *ret);
/* Handles what shepherd_pause() returned before the job's first process exists, so that it is not
 * lost. Returns true if the attempt must end now, also for an order to save and end, since there is
 * no work to save yet. An order to suspend the job is remembered. */
bool shepherd_early(int signal, const siginfo_t *info);
bool shepherd_paused_early(void);

#endif
