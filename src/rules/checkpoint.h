/*
 * checkpoint.h - whether and when a job makes checkpoints: the words of `qsub -c`.
 *
 *	n, none, u		it makes none (u: nothing was said)
 *	s, shutdown, enabled	only when it is stopped: preempted, at its walltime, when its machine shuts down
 *	c, w, periodic		the same, and from time to time; c=MINUTES, w=MINUTES, interval=MINUTES: that often. Time is wall-clock time in all of them
 *	duration=SECONDS	how long one may take, then the job is killed
 *	depth=NUMBER		how many are kept
 *	dir=PATH		the directory in which the job's own is made
 *	saver=PATH		a program of the user that saves the job, which gets no signals then
 *	restarter=PATH		a program of the user that is run instead of the job's script when that restarts
 *
 * joined by commas. Where PBS has minutes and seconds any duration with a unit or a colon is accepted, too: interval=90s, duration=5m.
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
	const char *saver, *restarter; /* the same; NULL: the class's */
};

/* -EINVAL with a sentence that names the word, and which there are. NULL and "" make none. */
int checkpoint_parse(const char *text, struct arena *a, struct checkpoint_wish *ret, struct err *err);

#endif
