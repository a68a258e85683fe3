/*
 * oracle.h - what could have been done: exact answers, too slow for a scheduler, that say how much is left to win.
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include <stdint.h>

#include "base/err.h"
#include "plan/plan.h"
#include "sim/metrics.h"
#include "sim/workload.h"

enum verdict {
	VERDICT_NO,   /* proved: no way */
	VERDICT_YES,  /* a way was found */
	VERDICT_OPEN, /* the budget ran out */
};

/* Whether a job, which holds nothing, could start at the plan's instant for `length` seconds if every fragment that has
 * not started and names no node could move to any other node, all at once; none moves in time. `budget` bounds the
 * assignments tried. */
enum verdict oracle_repack(const struct plan *p, uint32_t job, int64_t length, int64_t budget);

/* How many emergency jobs' deadlines could be met, at most, as each was submitted: by running over everything but those
 * emergency jobs before it that met theirs. Counts a job out only where that is proved: its window is shorter than its
 * length, or what earlier ones must hold at any rate leaves no room. */
int oracle_emergencies(const struct workload *w, const struct outcome *o, const char *machine, int64_t tolerance,
		       int64_t *ret_feasible, struct err *err);

#endif
