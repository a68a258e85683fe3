/*
 * taskclient.h - runs a program of this job on another of its hosts as if it ran here: asks the
 * agent of this host ($SHUNT_AGENT_SOCKET), and relays everything through that connection.
 * engine/tasks.h describes the protocol.
 */
#ifndef CMD_TASKCLIENT_H
#define CMD_TASKCLIENT_H

#include <stdbool.h>

#include "base/err.h"

#define TASKCLIENT_LOST 255 /* like ssh */

struct taskclient {
	const char *node;
	char *const *argv;
	char *const *env;    /* changes to the job's environment there; NULL-terminated, or NULL */
	const char *workdir; /* NULL: the job's */
	bool terminal;	     /* give it a terminal of the size of ours, which is raw meanwhile */
	int in, out, err;    /* local descriptors; `in` -1: no input */
	/* connection on which the server starts it in the job that it was asked for; 0: ask the
	 * agent, in the job of this process. Closed afterwards */
	int fd;
	/* how long to wait for this host's agent, which is away during an upgrade, s; 0: the
	 * default */
	int patience;
};

/* Starts the program and relays until it has ended: input, output, signals (INT, TERM, HUP, QUIT,
 * USR1, USR2) and the window size. *ret_code is its exit code, or 128 plus its signal. Returns
 * -errno if it was not started, or was lost. */
int taskclient_run(const struct taskclient *t, int *ret_code, struct err *err);

#endif
