/*
 * leave.h - running jobs that leave for an interactive one (policy artaras): when they may be stopped, how long that takes, and whether they save their work first.
 *
 * A job is stopped by a checkpoint. Where that takes longer than the attribute long_checkpoint allows, long_checkpoint_rule says what becomes of it: it is removed at once
 * and resumes from its last checkpoint; or it is interrupted only at set times; or it runs only in the hours in which interactive jobs are rare, which
 * the scheduler sees to (settings.nights).
 */
#ifndef RULES_LEAVE_H
#define RULES_LEAVE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cluster.h"
#include "rules/attr.h"

struct leave {
	int64_t takes; /* seconds until its processes are gone, at most */
	int64_t from;  /* not before this instant; TIME_NEVER: never */
	bool saves;    /* it makes a checkpoint first */
};

/* Seconds until the place of a running job that is stopped is free, at most: `saving` for its checkpoint (0: it makes
 * none), then `ending` as after its walltime (leave_ending). */
int64_t leave_takes(int64_t saving, int64_t ending);
/* Says how such a job leaves for an interactive one. */
struct leave leave_of(const struct attrs *server, int64_t saving, int64_t ending, int64_t now);
/* Seconds from its walltime and the tolerance until the place of a job is free, at most: its end may take `delay`, a last look at the checkpoint of one that makes them, and the
 * epilogue's limit (0: there is none). */
int64_t leave_ending(int64_t delay, int64_t saving, int64_t epilogue);
/* What the scheduler has to know: settings.long_saving and settings.nights. */
void leave_settings(struct settings *x, const struct attrs *server);

#endif
