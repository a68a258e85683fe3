/*
 * worker.h - the worker's end: takes tasks from a broker and runs as many at once as fit its
 * resources.
 *
 * Each running task has a thread, which starts the command (spawn.h), waits, and collects its
 * output. The main thread only moves messages. Output goes to an unnamed file, whose contents are
 * sent when the task ends. The command `:` (the shell's no-op) needs no process and is done at
 * once.
 *
 * A worker that must end gives its tasks their grace: SIGTERM, then SIGKILL. It dies with its
 * broker: when the connection ends, all tasks are killed with everything they started. When the
 * worker itself is killed, the kernel kills its tasks' first processes, and its guard the rest
 * (cmd/bag/bag_worker.c).
 */
#ifndef BAG_WORKER_H
#define BAG_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct worker_offer {
	const char *name;	/* shown to users; NULL: host and pid */
	int64_t cpus;		/* thousandths */
	int64_t gpus, memory;	/* memory: KiB; -1: unknown */
	int64_t seconds;	/* time until it ends by itself; -1: no end */
	const char *credential; /* NULL: the socket's permissions suffice */
	/* buffer of SECRET_SIZE bytes for a key with which this worker may reconnect; NULL: not
	 * wanted */
	char *session;
	bool died; /* the process that worked here before was killed */
	/* directory, created if needed, for tasks that run apart (files.h); NULL: no task does */
	const char *scratch;
};

/* Runs tasks of the broker at the other end of `fd` to the end. Returns 0 if the broker or SIGTERM
 * ended it or its time was up, 1 if the connection was lost, or -errno. Catches SIGTERM. */
int worker_run(int fd, const struct worker_offer *offer, struct err *err);

#endif
