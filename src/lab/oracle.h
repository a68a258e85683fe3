/*
 * oracle.h - exact answers that are too slow for a scheduler and show how much better it could
 * have done.
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include <stdint.h>

#include "base/err.h"
#include "plan/plan.h"
#include "sim/metrics.h"
#include "sim/workload.h"

enum verdict {
	VERDICT_NO,   /* proved impossible */
	VERDICT_YES,  /* a solution was found */
	VERDICT_OPEN, /* undecided: the budget ran out */
};

/* Decides if a job that holds nothing could start at the plan's instant for `length` seconds if
 * all fragments that have not started and name no node could move to other nodes at once,
 * keeping their times. `budget` limits the number of assignments tried. Returns VERDICT_OPEN if
 * any job has whole nodes. */
enum verdict oracle_repack(const struct plan *p, uint32_t job, int64_t length, int64_t budget);

struct job_start {
	uint32_t job;
	size_t nodes; /* index of its first fragment's node in starts.nodes */
};

/* Nodes on which jobs started. starts_listen() is a sim_options.listener with this as its
 * context. {0} is empty. */
struct starts {
	VEC(struct job_start) list;
	VEC(int32_t) nodes;
};
void starts_listen(void *context, const struct event *event);
void starts_fini(struct starts *s);

/* Computes an upper bound on the number of emergency jobs whose deadlines could be met, each
 * judged at its submission. A job may displace everything except earlier emergency jobs that met
 * their deadlines. Of those, the running ones keep their nodes, and the others may move within
 * their windows. A job counts as infeasible only if that is proved. All jobs of the workload
 * must have been accepted. */
int oracle_emergencies(const struct workload *w, const struct simulated *o, const struct starts *starts,
		       const char *machine, int64_t tolerance, int64_t *ret_feasible, struct err *err);

#endif
