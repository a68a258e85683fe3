/*
 * leave.h - how running jobs make way for an interactive one (policy artaras): when they may be
 * stopped, how long that takes, and whether they save their work first.
 *
 * A job is stopped by a checkpoint. If that takes longer than the attribute long_checkpoint allows,
 * long_checkpoint_rule decides: the job is removed at once and resumes from its last checkpoint; or
 * it is interrupted only at set times; or it runs only in hours with few interactive jobs, which
 * the scheduler enforces (settings.nights).
 */
#ifndef RULES_LEAVE_H
#define RULES_LEAVE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cluster.h"
#include "rules/attr.h"

struct leave {
	int64_t takes; /* maximum seconds until its processes are gone */
	int64_t from;  /* earliest instant; TIME_NEVER: never */
	bool saves;    /* makes a checkpoint first */
};

/* Returns the most seconds until the slot of a stopped job is free: `saving` for its checkpoint
 * (0: it makes none), then `ending` as after its walltime (leave_ending). */
int64_t leave_takes(int64_t saving, int64_t ending);
/* Returns how such a job makes way for an interactive one. */
struct leave leave_of(const struct attrs *server, int64_t saving, int64_t ending, int64_t now);
/* Returns the most seconds from the end of walltime and tolerance until a job's slot is free:
 * `delay` for its end, a last look at its checkpoint if it makes any, and the epilogue's limit
 * (0: none). */
int64_t leave_ending(int64_t delay, int64_t saving, int64_t epilogue);
/* Sets what the scheduler needs: settings.long_saving and settings.nights. */
void leave_settings(struct settings *x, const struct attrs *server);

#endif
