/*
 * scribe.h - work in a job's checkpoint directory (checkpoint.h), done by a process that runs as
 * the user.
 *
 * Each task runs in a child of the shepherd, which exits with 0 or an errno. It may block on a file
 * system forever: the shepherd kills it. A scribe may be killed at any point: the next one finds
 * what it needs, and `last` always names a good checkpoint, or does not exist.
 */
#ifndef RUN_SCRIBE_H
#define RUN_SCRIBE_H

#include <sys/types.h>

#include "run/criu.h"
#include "run/identity.h"
#include "run/order.h"

/* Memory that a scribe and the shepherd share. */
struct scribe_page {
	/* PREPARE: number of the checkpoint to write; FIND: number of the last good one, 0: none */
	int64_t number;
	bool other;	    /* FIND: the checkpoint is in restart_of */
	char why[CRIU_WHY]; /* AWAIT of CHECKPOINT_CRIU: error message */
	/* AWAIT, LOOK: number that `last` was set to; from then on it is good, whatever happens to
	 * the scribe */
	int64_t good;
};

enum scribe_task {
	/* makes the directory if needed and looks for the last good checkpoint; from_start: deletes
	 * all of them first. ENODATA: restart_of has none */
	SCRIBE_FIND,
	SCRIBE_PREPARE, /* makes an empty directory for the next checkpoint, and the notice */
	/* waits for `done`, or runs the saver, then makes it the last good checkpoint */
	SCRIBE_AWAIT,
	/* the same without waiting, when the program is gone. ENODATA: it was incomplete and is
	 * deleted */
	SCRIBE_LOOK,
	SCRIBE_ERASE, /* deletes the directory and its contents: the job has succeeded */
};

struct scribe_order {
	enum scribe_task task;
	const struct order *o;
	const struct identity *who;
	const char *dir; /* absolute */
	char **env;	 /* the job's environment, for the saver */
	enum checkpoint_cause cause;
	int64_t until;	   /* PREPARE: wall clock, microseconds */
	int64_t seconds;   /* PREPARE: seconds until then */
	int64_t number;	   /* AWAIT, LOOK */
	pid_t session;	   /* AWAIT: session of the job, for the saver or CRIU */
	bool done;	   /* LOOK: the checkpoint counts without `done` (exit_saves) */
	const char *other; /* FIND: path of restart_of */
	/* AWAIT of CHECKPOINT_CRIU: the attempt's output and error output */
	const struct stat *output;
	struct scribe_page *page;
};

/* Returns the child's pid, or -errno. */
pid_t scribe_start(const struct scribe_order *s);
/* Deletes a job's checkpoint directory (absolute), in a process that has become its user. Returns 0
 * if it no longer exists, or -errno. */
int scribe_erase(const char *dir);

#endif
