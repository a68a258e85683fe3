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
 * assignments tried; where a job has whole nodes the question stays open. */
enum verdict oracle_repack(const struct plan *p, uint32_t job, int64_t length, int64_t budget);

struct job_start {
	uint32_t job;
	size_t nodes; /* the first of its fragments' nodes, in starts.nodes */
};

/* Where jobs started: a sim_options.listener with this as its context. {0} is empty. */
struct starts {
	VEC(struct job_start) list;
	VEC(int32_t) nodes;
};
void starts_listen(void *context, const struct event *event);
void starts_fini(struct starts *s);

/* How many emergency jobs' deadlines could be met, at most, as each was submitted, by running over everything but
 * emergency jobs before it that met theirs: those that ran then stay where they are, the others are free to move
 * within their windows. A job is counted out only where that is proved. All jobs of the workload were accepted. */
int oracle_emergencies(const struct workload *w, const struct simulated *o, const struct starts *starts,
		       const char *machine, int64_t tolerance, int64_t *ret_feasible, struct err *err);

#endif
