/*
 * policy.h - policies are rows of one table: an order, how far to reserve, an order for backfill, how nodes are chosen,
 * what becomes of jobs that waited too long. EASY, conservative, push and our own are not programs of their own.
 */
#ifndef SCHED_POLICY_H
#define SCHED_POLICY_H

#include <stdbool.h>

#include "base/err.h"
#include "plan/insert.h"
#include "rules/priority.h"

/* In what order waiting jobs are looked at: the least key first, equals by arrival. */
enum queue_order {
	ORDER_NONE, /* of backfill: none */
	ORDER_ARRIVAL,
	ORDER_SHORTEST, /* length */
	ORDER_SMALLEST, /* processors, as TORQUE's default scheduler */
	ORDER_LARGEST,	/* ... the most first */
	ORDER_AREA,	/* length x processors */
	ORDER_WEIGHT,	/* as AREA, fixed CPUs counting more */
	ORDER_F1,	/* F1-F4: Carastan-Santos and de Camargo, 2017 */
	ORDER_F2,
	ORDER_F3,
	ORDER_F4,
	ORDER_WFP3,	/* Tang et al., 2009: -(wait / length)^3 x processors; changes with time */
	ORDER_DUE,	/* ours: due dates, see sched/due.c */
	ORDER_PRIORITY, /* the highest first, as the site has them (sched_on_weigh) */
};

enum reserve { RESERVE_NONE = 0, RESERVE_HEAD = 1, RESERVE_ALL = 1 << 30 };

/* What a job that waited longer than settings.starve_after gets. */
enum starve {
	STARVE_NOTHING,
	STARVE_DRAIN,  /* nothing else starts until it does */
	STARVE_ALL,    /* every starving job reserves the earliest instant */
	STARVE_OLDEST, /* only the oldest that can't start reserves */
	STARVE_QUEUE,  /* as ALL, but none starves before the queue it found would have been served */
};

enum knowledge {
	KNOW_ESTIMATE,	 /* the user's walltime */
	KNOW_PREDICTION, /* min(walltime, mean of the user's last two); the walltime once that has passed */
	KNOW_RUNTIME,	 /* clairvoyant: whoever feeds the scheduler gives the run time as walltime */
};

struct policy {
	const char *name;
	const char *about;
	enum queue_order order;
	enum queue_order backfill; /* of jobs behind the first that can't start; ORDER_NONE: they wait too */
	bool greedy;		   /* ... those together that fill best what is free (greedy.c) */
	int reserve;		   /* how many jobs that can't start reserve: enum reserve */
	bool keep;		   /* reservations are kept, and only moved forward (conservative) */
	bool position; /* ... also those of jobs with deadlines, by their position in the queue (position.c) */
	enum knowledge know;
	enum starve starve;
	bool deadlines; /* QoS and emergency jobs are known; else they are common jobs */
	enum alloc alloc;
	bool cover; /* jobs that could start now are given nodes together: as many jobs, on as few nodes as possible (cover.c) */
	bool scatter; /* fragments of a job never share a node */
	int push_depth;
};

extern const struct policy policies[];
extern const int npolicies;

/* The policy of that name; NULL if there is none. */
const struct policy *policy_find(const char *name);
/* Whether jobs can be ordered by these priorities under it. -EINVAL, with why not. */
int policy_prioritize(const struct policy *p, const struct priority_settings *x, struct err *err);
/* The nodes that jobs get, by a word of the attribute node_allocation. -EINVAL: it is none, or does not go with the policy. */
int policy_allocate(struct policy *p, const char *method, struct err *err);
/* What the server's attributes say otherwise than the row: node_pack, node_allocation, backfill, reservation_depth. -EINVAL, with what does not go with the policy: that is left out. */
int policy_alter(struct policy *p, const struct attrs *server, struct err *err);

#endif
