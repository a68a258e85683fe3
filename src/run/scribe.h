/*
 * scribe.h - what happens in a job's checkpoint directory (checkpoint.h), done by a process that is the user's.
 *
 * Each task runs in a child of the shepherd, which leaves with 0 or the number of an error. It may wait for a file system for ever: the shepherd kills it. Any of them may be
 * killed at any point: the next one finds what it needs, and `last` always names a good checkpoint, or there is none.
 */
#ifndef RUN_SCRIBE_H
#define RUN_SCRIBE_H

#include <sys/types.h>

#include "run/criu.h"
#include "run/identity.h"
#include "run/order.h"

/* What scribe and shepherd share. */
struct scribe_page {
	int64_t number; /* PREPARE: of the checkpoint that may be written now; FIND: of the last good one, 0: none */
	bool other;	/* FIND: that one is in restart_of */
	char why[CRIU_WHY]; /* AWAIT, of CHECKPOINT_CRIU: what went wrong */
	int64_t good; /* AWAIT, LOOK: the number that `last` was set to: from then on it is good, whatever becomes of the scribe */
};

enum scribe_task {
	SCRIBE_FIND, /* makes the directory, if there is none, and looks for the last good checkpoint; from_start: after deleting all. ENODATA: restart_of has none */
	SCRIBE_PREPARE, /* an empty directory for the next, and the notice */
	SCRIBE_AWAIT,	/* waits for `done`, or runs the saver, then makes it the last good one */
	SCRIBE_LOOK,  /* the same without waiting: the program is gone. ENODATA: it was not complete, and is deleted */
	SCRIBE_ERASE, /* deletes the directory with all that is in it: the job has succeeded */
};

struct scribe_order {
	enum scribe_task task;
	const struct order *o;
	const struct identity *who;
	const char *dir; /* absolute */
	char **env;	 /* of the job, for the saver */
	enum checkpoint_cause cause;
	int64_t until;		   /* PREPARE: wall clock, microseconds */
	int64_t seconds;	   /* PREPARE: until then */
	int64_t number;		   /* AWAIT, LOOK */
	pid_t session;		   /* AWAIT: of the job, for the saver, or CRIU */
	bool done;		   /* LOOK: it counts without `done` (exit_saves) */
	const char *other;	   /* FIND: the path of restart_of */
	const struct stat *output; /* AWAIT, of CHECKPOINT_CRIU: the attempt's output and error output */
	struct scribe_page *page;
};

/* The child's pid, or -errno. */
pid_t scribe_start(const struct scribe_order *s);
/* Deletes a job's checkpoint directory (absolute), by a process that has become its user. 0: there is none any more; or -errno. */
int scribe_erase(const char *dir);

#endif
