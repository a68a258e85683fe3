/*
 * insert.h - placing a job at an instant, and finding the instant: see docs/scheduling.md.
 *
 * plan_insert() finds a node for every fragment or leaves the plan as it was. A fragment goes to
 * the fitting node with the least free CPU-seconds over its interval. If no node fits, it goes to a
 * *viable* one: other fragments there are first pushed to other nodes (push.c) or, if the job has
 * the power, their jobs are removed. No fragment, whether the job's own or a pushed one, goes to a
 * node that its job may not use (job.allowed) or that is closed to placement (manner.on).
 *
 * This allocator serves nodes outside partitions. A job that runs in a partition (core/partition.h)
 * gets a whole one from a second allocator (partition.c); shared jobs get no node of a partition.
 * Both allocators are behind the same functions.
 */
#ifndef PLAN_INSERT_H
#define PLAN_INSERT_H

#include "plan/plan.h"

/* Jobs that an attempt may remove, in the order of sacrifice: the lowest bit goes first. */
enum removable {
	REMOVE_STARVING = 1 << 0, /* reserved starving jobs that are not critical */
	REMOVE_CRITICAL = 1 << 1, /* reserved starving jobs that are critical */
	REMOVE_QOS = 1 << 2,	  /* reserved QoS jobs */
	REMOVE_EMERGENCY = 1 << 3,
	REMOVE_RUN_COMMON = 1 << 4,
	REMOVE_RUN_STARVING = 1 << 5,
	REMOVE_RUN_QOS = 1 << 6,
	REMOVE_RUN_EMERGENCY = 1 << 7,
};

/* How a fragment's node is chosen among those that fit (offer.c); ties go to the first node. */
enum alloc {
	ALLOC_BEST,	  /* fewest free CPU-seconds over the interval */
	ALLOC_FIRST,	  /* first node that fits */
	ALLOC_LOAD,	  /* lowest share of CPUs in use over the interval */
	ALLOC_FASTEST,	  /* highest speed; ties as ALLOC_BEST */
	ALLOC_SPREAD,	  /* fewest fragments of the same job; ties by most free CPU-seconds */
	ALLOC_CONTIGUOUS, /* nodes of the job as close together as possible, in node order */
};

/* Limit of a search, and the point from which to continue it. */
struct search {
	/* value of plan.work at which the search ends early, after testing at least one more
	 * instant */
	uint64_t stop;
	/* start (in a search for the latest place: end) to continue from; TIME_NEVER: search
	 * complete */
	int64_t next;
};

/* How to insert: depends on the policy and on the job's powers. */
struct manner {
	unsigned may_remove; /* bits of enum removable */
	bool only_younger;   /* starving jobs are removed only if submitted later and not starting now */
	int push_depth;	     /* 0: no push; 1: only from the node itself; more: pushed fragments push others */
	enum alloc alloc;
	bool scatter;		  /* fragments of one job never share a node */
	bool largest_first;	  /* place free fragments with the most CPUs first instead of the fewest */
	const struct nodeset *on; /* nodes open to placement; NULL: all nodes that are up */
	struct search *search;	  /* NULL: the search is unlimited */
};

/* Puts all fragments of a job, which must hold none, at [start, end). Returns true on success,
 * inside the caller's transaction if there is one. On failure the plan is unchanged. */
bool plan_insert(struct plan *p, const struct manner *m, uint32_t job, int64_t start, int64_t end);

/* Find the earliest start >= from, or the latest start with its end <= until, at which
 * plan_insert() succeeds, and place the job there. Every event point is tested. They return
 * TIME_NEVER and leave the plan unchanged if there is none, or none yet (m->search). */
int64_t plan_insert_earliest(struct plan *p, const struct manner *m, uint32_t job, int64_t from, int64_t length);
int64_t plan_insert_latest(struct plan *p, const struct manner *m, uint32_t job, int64_t from, int64_t until,
			   int64_t length);

/* Returns true if a job of one fragment, which shares its node and names none, fits on the node
 * over [start, end) without any change to the plan. */
bool plan_fits_on(struct plan *p, const struct manner *m, uint32_t job, int32_t node, int64_t start, int64_t end);

/* Returns the enum removable bit that covers a job in the plan, or 0 if nothing can remove it. */
unsigned plan_removable(const struct plan *p, uint32_t job);

/* For a job with whole nodes (or machines): plan_whole_free() counts the nodes (machines) in
 * `on` that could take one of its fragments over [start, end), plan_whole_count() those it
 * holds. */
uint32_t plan_whole_free(struct plan *p, const struct nodeset *on, uint32_t job, int64_t start, int64_t end);
uint32_t plan_whole_count(const struct plan *p, uint32_t job);
/* CPUs held by a job with a place; with whole nodes, all of theirs */
int64_t plan_cpus(const struct plan *p, uint32_t job);

/* Returns true if the timeline alone decides where the job fits: the cluster is one node, the
 * job may use it, and no piece there is moved or removed. */
bool plan_is_simple(const struct plan *p, const struct manner *m, uint32_t job);

/* Return true if the job runs in a partition, and if it may use partition `part`. */
bool plan_in_partition(const struct plan *p, uint32_t job);
bool plan_may_use(const struct plan *p, uint32_t job, const struct partition *part);
/* Returns the earliest instant >= from at which the partition is empty for `length` seconds. */
int64_t plan_partition_free(const struct plan *p, const struct partition *part, int64_t from, int64_t length);
/* Returns until when it is empty from now on; now: it is not. */
int64_t plan_partition_until(const struct plan *p, const struct partition *part);
/* Returns a lower bound for the instant at which the job finds an empty partition; *ret (unless
 * NULL) is the first partition that is empty then. */
int64_t plan_partition_earliest(const struct plan *p, uint32_t job, int64_t from, int64_t length,
				const struct partition **ret);

#endif
