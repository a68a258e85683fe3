/*
 * blockers.h - every reason that keeps a job from starting, not only the first.
 *
 * The list is minimal and complete: the job starts at once if all reasons are gone, and does not if
 * any one remains. To find it, every possible obstacle is removed, then put back one by one: an
 * obstacle that the job can bear stays, one that it cannot is a reason. A limit reached because of
 * the jobs in the way is also listed, as an implied reason.
 */
#ifndef SCHED_BLOCKERS_H
#define SCHED_BLOCKERS_H

#include "sched/explain.h"

struct scratch;
typedef VEC(struct reason) reason_vec;

/* The question. */
struct blockers_ask {
	uint32_t job;		 /* the waiting or held job */
	uint32_t allowed;	 /* nodes the job may use, including those it avoids after failures */
	const bool *there;	 /* by node: it belongs to the cluster, up or down */
	const job_vec *along;	 /* held jobs to be released together with it; may be NULL */
	bool released;		 /* assume that obstacles outside the scheduler, such as holds, are gone */
	bool parted;		 /* the job runs in a partition */
	struct scratch *scratch; /* memory for a copy of the scheduler; may be NULL */
};

/* Appends the scheduler's reasons without changing anything. None are appended if the job starts
 * in the next cycle. */
void sched_blockers(struct sched *s, const struct blockers_ask *ask, reason_vec *ret);
void reasons_fini(reason_vec *v);

#endif
