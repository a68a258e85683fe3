/*
 * checkpoint.h - parses `qsub -c`, which says whether and when a job makes checkpoints.
 *
 *	n, none, u		no checkpoints (u: not specified)
 *	s, shutdown, enabled	only when stopped: by preemption, walltime or shutdown
 *	c, w, periodic		the same, and periodically; c=MINUTES, w=MINUTES and
 *				interval=MINUTES set the interval, in wall-clock time
 *	duration=SECONDS	longest time one may take before the job is killed
 *	depth=NUMBER		number of checkpoints to keep
 *	dir=PATH		parent of the job's checkpoint directory
 *	saver=PATH		user's program that saves the job, which then gets no signal
 *	restarter=PATH		user's program that replaces the script at a restart
 *
 * Words are joined by commas. Where PBS takes minutes or seconds, any duration with a unit or a
 * colon is accepted as well: interval=90s, duration=5m.
 */
#ifndef RULES_CHECKPOINT_H
#define RULES_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

#define CHECKPOINT_DEPTH_MAX 1000

struct checkpoint_wish {
	bool makes, periodic;
	int64_t interval, duration;    /* seconds; 0: the class's */
	int depth;		       /* 0: the class's */
	const char *dir;	       /* absolute, in the arena; NULL: the site's */
	const char *saver, *restarter; /* absolute, in the arena; NULL: the class's */
};

/* Parses the text of -c; NULL and "" request no checkpoints. -EINVAL with a message that names
 * the bad word and lists the valid ones. */
int checkpoint_parse(const char *text, struct arena *a, struct checkpoint_wish *ret, struct err *err);

#endif
