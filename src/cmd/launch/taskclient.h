/*
 * taskclient.h - a program of this job on another of its hosts, as if it ran here: the agent of
 * this host ($SHUNT_AGENT_SOCKET) is asked for it, and everything goes through that connection.
 * What it says is in engine/tasks.h.
 */
#ifndef CMD_TASKCLIENT_H
#define CMD_TASKCLIENT_H

#include <stdbool.h>

#include "base/err.h"

#define TASKCLIENT_LOST 255 /* as ssh has it */

struct taskclient {
	const char *node;
	char *const *argv;
	char *const *env;    /* changes of the environment that the job has there; NULL-terminated, or NULL */
	const char *workdir; /* NULL: the job's */
	bool terminal;	     /* it gets one, of the size of ours, which is raw meanwhile */
	int in, out, err;    /* here; `in` -1: it has no input */
	int patience; /* seconds for an agent of this host that is away, as it is while it is upgraded; 0: the usual */
};

/* Starts it and relays until it has ended: input, output, signals (INT, TERM, HUP, QUIT, USR1,
 * USR2), the window's size. *ret_code: its exit code, or 128 and its signal's number. -errno: it
 * was not started, or lost. */
int taskclient_run(const struct taskclient *t, int *ret_code, struct err *err);

#endif
