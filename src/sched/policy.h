/*
 * policy.h - policies as rows of one table: a queue order, a reservation depth, a backfill order,
 * an allocator, and the treatment of jobs that waited too long. EASY, conservative, push and our
 * own policy are rows, not programs of their own.
 */
#ifndef SCHED_POLICY_H
#define SCHED_POLICY_H

#include <stdbool.h>

#include "base/err.h"
#include "plan/insert.h"
#include "rules/priority.h"

/* The order in which waiting jobs are considered: least key first, ties by arrival. */
enum queue_order {
	ORDER_NONE, /* for backfill: no backfill */
	ORDER_ARRIVAL,
	ORDER_SHORTEST, /* expected run time */
	ORDER_SMALLEST, /* processors, as in TORQUE's default scheduler */
	ORDER_LARGEST,	/* processors, most first */
	ORDER_AREA,	/* expected run time x processors */
	ORDER_WEIGHT,	/* area, with fixed CPUs counting more */
	ORDER_F1,	/* F1-F4: Carastan-Santos and de Camargo, 2017 */
	ORDER_F2,
	ORDER_F3,
	ORDER_F4,
	ORDER_WFP3,	/* Tang et al., 2009: -(wait / length)^3 x processors; changes with time */
	ORDER_DUE,	/* ours: due dates, see sched/due.c */
	ORDER_PRIORITY, /* highest priority first, as the site defines it (sched_on_weigh) */
};

enum reserve { RESERVE_NONE = 0, RESERVE_HEAD = 1, RESERVE_ALL = 1 << 30 };

/* The privilege of a job that waited longer than settings.starve_after. */
enum starve {
	STARVE_NOTHING,
	STARVE_DRAIN,  /* nothing else starts until the job does */
	STARVE_ALL,    /* every starving job reserves the earliest instant */
	STARVE_OLDEST, /* only the oldest starving job that cannot start reserves */
	/* like ALL, but no job starves before the queue it found on arrival would have been
	 * served */
	STARVE_QUEUE,
};

enum knowledge {
	KNOW_ESTIMATE, /* the user's walltime */
	/* min(walltime, mean of the user's last two runs); the walltime once that has passed */
	KNOW_PREDICTION,
	KNOW_RUNTIME, /* clairvoyant: the caller sets the walltime to the run time */
};

/* How ORDER_DUE treats wide jobs (sched/duedate.c). */
enum wide_rule {
	WIDE_OBSERVED, /* depends on the share of the work so far that was done by wide jobs */
	WIDE_RARE,     /* assumes that this share is small */
	/* assumes that this share is large: favours wide jobs as far as a simulated EASY schedule
	 * shows that other jobs can wait */
	WIDE_COMMON,
};

struct policy {
	const char *name;
	const char *about;
	enum queue_order order;
	enum wide_rule wide; /* for ORDER_DUE */
	/* order of jobs behind the first that cannot start; ORDER_NONE: they also wait */
	enum queue_order backfill;
	bool greedy; /* backfill the set of jobs that best fills the free CPUs (greedy.c) */
	int reserve; /* number of jobs that cannot start and reserve: enum reserve */
	bool keep;   /* reservations are kept and only moved forward (conservative) */
	/* reservations of jobs with deadlines are also kept, by position in the queue
	 * (position.c) */
	bool position;
	enum knowledge know;
	enum starve starve;
	bool deadlines; /* QoS and emergency jobs are supported; otherwise they count as common jobs */
	enum alloc alloc;
	/* nodes are assigned to all startable jobs together: most jobs on fewest nodes (cover.c) */
	bool cover;
	bool scatter; /* fragments of a job never share a node */
	int push_depth;
};

extern const struct policy policies[];
extern const int npolicies;

/* Returns the policy of that name, or NULL. */
const struct policy *policy_find(const char *name);
/* Returns 0 if jobs can be ordered by these priorities under the policy, else -EINVAL with the
 * reason. */
int policy_prioritize(const struct policy *p, const struct priority_settings *x, struct err *err);
/* Sets the allocator from a value of the attribute node_allocation. Returns -EINVAL if the value
 * is unknown or does not suit the policy. */
int policy_allocate(struct policy *p, const char *method, struct err *err);
/* Applies the server's attributes that override the row: node_pack, node_allocation, backfill,
 * reservation_depth. Returns -EINVAL, with the reason, if one does not suit the policy; that one
 * is left out. */
int policy_alter(struct policy *p, const struct attrs *server, struct err *err);

#endif
