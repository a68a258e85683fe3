/*
 * worker.h - the worker's end: takes tasks from a broker and runs them, as many at once as fit on what it has.
 *
 * A thread for each task that runs: it starts the command (spawn.h), waits, and collects its output. The main thread only moves messages. Output goes to a
 * file without a name, whose contents are sent when the task ends. The command `:` (the shell's no-op) needs no process and is done at once.
 *
 * It dies with its broker: when the connection ends, all tasks are killed with everything that they started. When the worker itself is killed, the kernel
 * kills its tasks' first processes, and a broker on the same host kills the rest.
 */
#ifndef BAG_WORKER_H
#define BAG_WORKER_H

#include <stdint.h>

#include "base/err.h"

struct worker_offer {
	const char *name;	/* shown to users; NULL: host and pid */
	int64_t cpus;		/* thousandths */
	int64_t gpus, memory;	/* KiB; -1: unknown */
	int64_t seconds;	/* until it ends by itself; -1: no such time */
	const char *credential; /* NULL: the socket's permissions suffice */
	char *session;		/* SECRET_SIZE bytes for a key with which this worker may come back; NULL: not wanted */
	const char
		*scratch; /* a directory that it makes if need be, for tasks that run apart (files.h); NULL: none do */
};

/* Runs tasks of the broker at the other end of `fd` until that ends. 0: it was told to end; 1: the connection ended; -errno with what went wrong. */
int worker_run(int fd, const struct worker_offer *offer, struct err *err);

#endif
