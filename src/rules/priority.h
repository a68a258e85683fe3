/*
 * priority.h - the priority of a job that waits, from named factors.
 *
 * Each factor is a number in a unit of its own (factor_table). As a sum, the priority is weight x value, added up. As a product, which UnderLord had, each factor
 * is a stage: its value is mapped to 0..1, linearly between two bounds, and the stages are multiplied, each raised to the power of its weight. A factor of
 * weight 0 has no effect in either. Of a stage with a negative weight it counts how far it is from 1.
 *
 * Queue time is counted from the job's rank (weigh.h), so that places that users and administrators exchange stay exchanged.
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
	const char *unit, *about; /* for people */
	double low, high;	  /* of its stage, unless they are set */
};
extern const struct factor_row factor_table[FACTOR_COUNT];

enum priority_order { PRIORITY_POLICY, PRIORITY_SUM, PRIORITY_PRODUCT };

struct priority_settings {
	enum priority_order order; /* PRIORITY_POLICY: the policy knows no priorities */
	double weight[FACTOR_COUNT], low[FACTOR_COUNT], high[FACTOR_COUNT];
};

/* What the server's attributes say. -EINVAL: bounds that are no interval. */
int priority_settings_of(struct priority_settings *x, const struct attrs *server, struct err *err);

/* Changes attributes of a server to what "cpus=10, low.cpus=1, order=sum" says, for a trial. -EINVAL with a sentence. */
int priority_try(struct attrs *server, const char *text, struct err *err);

/* Whether time alone can change who comes first. */
bool priority_drifts(const struct priority_settings *x);

/* What is known of a job. */
struct prioritized {
	double rank;			   /* its place in time */
	int64_t walltime;		   /* seconds */
	int64_t deadline;		   /* TIME_NEVER: none */
	int64_t cpus, memory;		   /* KiB */
	int64_t queue;			   /* the priority that is set of its queue */
	double fairshare;		   /* the standing of its member (fairshare.h) */
	int64_t user, group, account, qos; /* the priorities that are set of them */
	double hook;			   /* what the site's hooks say of it */
};

/* ... by the core alone: the rest is 0. */
void prioritized_of(struct prioritized *ret, const struct cluster *c, const struct job *job);

/* How the priority came about. */
struct weighing {
	double value[FACTOR_COUNT]; /* in the factor's unit */
	double part[FACTOR_COUNT];  /* of a sum: what is added; of a product: what is multiplied with */
	double priority;
};

void priority_weigh(const struct priority_settings *x, const struct prioritized *job, int64_t now,
		    struct weighing *ret);

#endif
