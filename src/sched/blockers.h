/*
 * blockers.h - every reason for which a job does not start, not only the first.
 *
 * The list is minimal and complete: with all of them gone the job starts at once, with fewer gone it does not. What can be taken away is
 * taken away first; then one after the other is put back: what the job can bear stays, what it can't is a reason. A limit that the jobs in its way
 * have reached is listed, too, as one that is implied.
 */
#ifndef SCHED_BLOCKERS_H
#define SCHED_BLOCKERS_H

#include "sched/explain.h"

struct scratch;
typedef VEC(struct reason) reason_vec;

/* What is asked. */
struct blockers_ask {
	uint32_t job;		 /* that waits, or is held */
	uint32_t allowed;	 /* nodes that it may use, including those that it avoids after failures */
	const bool *there;	 /* by node: it belongs to the cluster, up or not */
	const job_vec *along;	 /* held ones that are released together with it; or NULL */
	bool released;		 /* something else than the scheduler keeps it waiting, and is taken to be gone */
	bool parted;		 /* it runs in a partition */
	struct scratch *scratch; /* for a copy of the scheduler; or NULL */
};

/* Appends the scheduler's reasons. Nothing is changed. Nothing is appended: it starts with the next cycle. */
void sched_blockers(struct sched *s, const struct blockers_ask *ask, reason_vec *ret);
void reasons_fini(reason_vec *v);

#endif
