/*
 * insert.h - placing a job at an instant, and finding the instant: see docs/scheduling.md.
 *
 * plan_insert() finds a node for every fragment or leaves the plan as it was. A fragment goes to the fitting node with the
 * least free CPU-seconds over its interval; where none fits, to a *viable* one, whose other fragments are first pushed
 * to other nodes (push.c) or, with the power for it, whose jobs are removed. No fragment, the job's own or a pushed one,
 * goes to a node that its job may not use (job.allowed), nor to one that nothing may be put on (manner.on).
 *
 * That is one allocator, for nodes outside partitions. A job that runs in a partition (core/partition.h) gets a whole one, by the other (partition.c); shared
 * jobs get no node of a partition. Both are behind the same functions.
 */
#ifndef PLAN_INSERT_H
#define PLAN_INSERT_H

#include "plan/plan.h"

/* Whom an attempt may remove. The order is that of sacrifice: the lowest bit goes first. */
enum removable {
	REMOVE_STARVING = 1 << 0, /* reserved, not critical */
	REMOVE_CRITICAL = 1 << 1, /* reserved starving jobs that are critical */
	REMOVE_QOS = 1 << 2,	  /* reserved */
	REMOVE_EMERGENCY = 1 << 3,
	REMOVE_RUN_COMMON = 1 << 4,
	REMOVE_RUN_STARVING = 1 << 5,
	REMOVE_RUN_QOS = 1 << 6,
	REMOVE_RUN_EMERGENCY = 1 << 7,
};

/* Which of the nodes that fit a fragment gets (offer.c); of equals the first. */
enum alloc {
	ALLOC_BEST,	  /* least free CPU-seconds over the interval */
	ALLOC_FIRST,	  /* the first node that fits */
	ALLOC_LOAD,	  /* the least share of its CPUs in use over the interval */
	ALLOC_FASTEST,	  /* the highest speed; of equals the best */
	ALLOC_SPREAD,	  /* the fewest fragments of its job; of equals the most free CPU-seconds */
	ALLOC_CONTIGUOUS, /* the job's nodes as close together as they can be, in the order of nodes */
};

/* A search that may not take long. */
struct search {
	uint64_t stop; /* it ends early when plan.work has come so far; at least one instant more was tested then */
	int64_t next;  /* ... and goes on from this instant, or, the latest, from this end; TIME_NEVER: it was all */
};

/* How an insertion is made: a property of the policy and of the job's powers. */
struct manner {
	unsigned may_remove; /* enum removable */
	bool only_younger;   /* ... and of starving jobs only those submitted later that do not start now */
	int push_depth;	     /* 0: no push; 1: the source's; more: pushed fragments push others */
	enum alloc alloc;
	bool scatter;		  /* fragments of one job never share a node */
	bool largest_first;	  /* free fragments: most CPUs first, instead of fewest */
	const struct nodeset *on; /* nodes that anything may be put on; NULL: all that are up */
	struct search *search;	  /* NULL: it may take as long as it takes */
};

/* Puts all fragments of a job, which must hold none, at [start, end). True: done, inside the caller's transaction if
 * there is one. False: the plan is as it was. */
bool plan_insert(struct plan *p, const struct manner *m, uint32_t job, int64_t start, int64_t end);

/* The earliest instant >= from, and the latest with its end <= until, at which plan_insert() succeeds, and the job is
 * put there. Every event point is tested. TIME_NEVER: none (or none yet: m->search), and the plan is as it was. */
int64_t plan_insert_earliest(struct plan *p, const struct manner *m, uint32_t job, int64_t from, int64_t length);
int64_t plan_insert_latest(struct plan *p, const struct manner *m, uint32_t job, int64_t from, int64_t until,
			   int64_t length);

/* Whether a job of one fragment, which names no node and shares it, could be on a node over [start, end) as things are. */
bool plan_fits_on(struct plan *p, const struct manner *m, uint32_t job, int32_t node, int64_t start, int64_t end);

/* Which enum removable a job in the plan is, or 0 when nothing could remove it. */
unsigned plan_removable(const struct plan *p, uint32_t job);

/* Of a job with whole nodes: how many nodes, or with whole machines how many machines, could take a fragment of it over
 * [start, end), of those that anything may be put on; and how many it has. */
uint32_t plan_whole_free(struct plan *p, const struct nodeset *on, uint32_t job, int64_t start, int64_t end);
uint32_t plan_whole_count(const struct plan *p, uint32_t job);
int64_t plan_cpus(const struct plan *p, uint32_t job); /* that a job with a place has: of whole nodes all */

/* On one node that the job may use, and whose pieces stay where they are, its timeline says at once what fits. */
bool plan_is_simple(const struct plan *p, const struct manner *m, uint32_t job);

/* Whether a job runs in a partition; and whether it may use that one. */
bool plan_in_partition(const struct plan *p, uint32_t job);
bool plan_may_use(const struct plan *p, uint32_t job, const struct partition *part);
/* The earliest instant from which a partition is empty for that long. */
int64_t plan_partition_free(const struct plan *p, const struct partition *part, int64_t from, int64_t length);
/* No instant before it has an empty partition for such a job; the first that has goes to *ret, unless NULL. */
int64_t plan_partition_earliest(const struct plan *p, uint32_t job, int64_t from, int64_t length,
				const struct partition **ret);

#endif
