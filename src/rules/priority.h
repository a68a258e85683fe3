/*
 * priority.h - computes the priority of a waiting job from named factors.
 *
 * Each factor is a number in its own unit (factor_table). As a sum, the priority is the sum of
 * weight x value. As a product, as in UnderLord, each factor is a stage: its value is mapped
 * linearly between two bounds to 0..1, raised to the power of its weight, and the stages are
 * multiplied. A factor of weight 0 has no effect either way. A stage with a negative weight uses 1
 * minus the mapped value.
 *
 * Queue time counts from the job's rank (weigh.h), so that exchanges of position by users and
 * administrators persist.
 */
#ifndef RULES_PRIORITY_H
#define RULES_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cluster.h"
#include "core/job.h"
#include "rules/attr.h"

enum factor {
	FACTOR_QUEUE_TIME,
	FACTOR_EXPANSION,
	FACTOR_CPUS,
	FACTOR_MEMORY,
	FACTOR_WALLTIME,
	FACTOR_DEADLINE,
	FACTOR_QUEUE,
	FACTOR_FAIRSHARE,
	FACTOR_USER,
	FACTOR_GROUP,
	FACTOR_ACCOUNT,
	FACTOR_QOS,
	FACTOR_HOOK,
	FACTOR_COUNT
};

struct factor_row {
	const char *name;
	const char *unit, *about; /* for display */
	double low, high;	  /* default bounds of its stage */
};
extern const struct factor_row factor_table[FACTOR_COUNT];

enum priority_order { PRIORITY_POLICY, PRIORITY_SUM, PRIORITY_PRODUCT };

struct priority_settings {
	enum priority_order order; /* PRIORITY_POLICY: the policy does not use priorities */
	double weight[FACTOR_COUNT], low[FACTOR_COUNT], high[FACTOR_COUNT];
};

/* Reads the server's attributes. -EINVAL: bounds that do not form an interval. */
int priority_settings_of(struct priority_settings *x, const struct attrs *server, struct err *err);

/* Applies a text such as "cpus=10, low.cpus=1, order=sum" to a server's attributes, for a trial.
 * -EINVAL with a message. */
int priority_try(struct attrs *server, const char *text, struct err *err);

/* Returns true if time alone can change the order. */
bool priority_drifts(const struct priority_settings *x);

/* The inputs of a job's priority. */
struct prioritized {
	double rank;			   /* position in time (weigh.h) */
	int64_t walltime;		   /* seconds */
	int64_t deadline;		   /* TIME_NEVER: none */
	int64_t cpus, memory;		   /* memory in KiB */
	int64_t queue;			   /* priority attribute of its queue */
	double fairshare;		   /* standing of its member (fairshare.h) */
	int64_t user, group, account, qos; /* their priority attributes */
	double hook;			   /* value returned by the site's hooks */
};

/* Fills in what the core knows; the rest is 0. */
void prioritized_of(struct prioritized *ret, const struct cluster *c, const struct job *job);

/* The parts of a computed priority. */
struct weighing {
	double value[FACTOR_COUNT]; /* in the factor's unit */
	double part[FACTOR_COUNT];  /* summand or multiplier */
	double priority;
};

void priority_weigh(const struct priority_settings *x, const struct prioritized *job, int64_t now,
		    struct weighing *ret);

#endif
