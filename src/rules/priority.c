/*
 * priority.c - see priority.h.
 */
#include "rules/priority.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/timetext.h"

#define NO_LIMIT 1e15 /* maximum of a value, so that sums cannot overflow */

const struct factor_row factor_table[FACTOR_COUNT] = {
	[FACTOR_QUEUE_TIME] = {"queue_time", "minutes", "how long it has waited", 0, 10080},
	[FACTOR_EXPANSION] = {"expansion", "times", "(time waited + walltime) / walltime", 1, 10},
	[FACTOR_CPUS] = {"cpus", "CPUs", "how many it asks for", 0, 1024},
	[FACTOR_MEMORY] = {"memory", "GB", "how much it asks for", 0, 1024},
	[FACTOR_WALLTIME] = {"walltime", "hours", "how long it may run", 0, 168},
	[FACTOR_DEADLINE] = {"deadline", "percent", "of the time to its deadline that it would run; 0: it has none", 0,
			     100},
	[FACTOR_QUEUE] = {"queue", "", "the priority that is set of its queue", -1024, 1023},
	[FACTOR_FAIRSHARE] = {"fairshare", "percent",
			      "of the users who have used something, those behind its user by fairshare", 0, 100},
	[FACTOR_USER] = {"user", "", "the priority that is set of its user", -1000, 1000},
	[FACTOR_GROUP] = {"group", "", "the priority that is set of its group", -1000, 1000},
	[FACTOR_ACCOUNT] = {"account", "", "the priority that is set of its account", -1000, 1000},
	[FACTOR_QOS] = {"qos", "", "the priority that is set of its quality of service", -1000, 1000},
	[FACTOR_HOOK] = {"hook", "", "what the site's hooks say of it (priority_factor)", 0, 100},
};

int priority_settings_of(struct priority_settings *x, const struct attrs *server, struct err *err)
{
	const char *order = attrs_text(server, SET_PRIORITY_ORDER);

	*x = (struct priority_settings){.order = strcmp(order, "sum") == 0	 ? PRIORITY_SUM
						 : strcmp(order, "product") == 0 ? PRIORITY_PRODUCT
										 : PRIORITY_POLICY};
	for (int i = 0; i < FACTOR_COUNT; i++) {
		const struct factor_row *f = &factor_table[i];
		x->weight[i] = (double)attrs_weight(server, SET_PRIORITY_WEIGHT, f->name, 0);
		x->low[i] = (double)attrs_weight(server, SET_PRIORITY_LOW, f->name, (int64_t)f->low);
		x->high[i] = (double)attrs_weight(server, SET_PRIORITY_HIGH, f->name, (int64_t)f->high);
		if (x->low[i] >= x->high[i])
			return err_set(
				err, -EINVAL,
				"the bounds of a stage: priority_low.%s (%.0f) must be below priority_high.%s (%.0f)",
				f->name, x->low[i], f->name, x->high[i]);
	}
	return 0;
}

int priority_try(struct attrs *server, const char *text, struct err *err)
{
	char *copy = mem_strdup(text), *rest = copy, *one;
	int rc = 0;

	while (rc == 0 && (one = strsep(&rest, ", "))) {
		char *value = strchr(one, '='), name[96];
		const char *kind = "weight.";
		if (!*one)
			continue;
		if (!value) {
			rc = err_set(err, -EINVAL, "try: \"%.60s\" is not FACTOR=WEIGHT, as in cpus=10", one);
			break;
		}
		*value++ = '\0';
		if (strcmp(one, "order") == 0 || strncmp(one, "low.", 4) == 0 || strncmp(one, "high.", 5) == 0)
			kind = "";
		snprintf(name, sizeof name, "priority_%s%.60s", kind, one);
		rc = attrs_change(server, ATTR_SET, name, value, err);
	}
	free(copy);
	return rc;
}

bool priority_drifts(const struct priority_settings *x)
{
	bool curved = x->weight[FACTOR_EXPANSION] != 0 || x->weight[FACTOR_DEADLINE] != 0 ||
		      x->weight[FACTOR_FAIRSHARE] != 0 || x->weight[FACTOR_HOOK] != 0;

	/* in a sum, queue time grows equally for all jobs */
	return curved || (x->order == PRIORITY_PRODUCT && x->weight[FACTOR_QUEUE_TIME] != 0);
}

void prioritized_of(struct prioritized *ret, const struct cluster *c, const struct job *job)
{
	const struct request *r = cluster_job_request(c, job);

	*ret = (struct prioritized){
		.rank = job->rank,
		.walltime = job->walltime,
		.deadline = job->deadline,
		.cpus = request_cpus(r),
		.memory = r->total.v[RES_MEM],
	};
}

static void values_of(const struct prioritized *job, int64_t now, double *v)
{
	double waited = (double)now - job->rank, length = job->walltime > 0 ? (double)job->walltime : 1;
	double left = job->deadline == TIME_NEVER ? 0 : (double)(job->deadline - now);

	v[FACTOR_QUEUE_TIME] = waited / 60;
	v[FACTOR_EXPANSION] = 1 + waited / length;
	v[FACTOR_CPUS] = (double)job->cpus;
	v[FACTOR_MEMORY] = (double)job->memory / (1024 * 1024);
	v[FACTOR_WALLTIME] = length / 3600;
	v[FACTOR_DEADLINE] = job->deadline == TIME_NEVER ? 0 : left <= length ? 100 : 100 * length / left;
	v[FACTOR_QUEUE] = (double)job->queue;
	v[FACTOR_FAIRSHARE] = job->fairshare;
	v[FACTOR_USER] = (double)job->user;
	v[FACTOR_GROUP] = (double)job->group;
	v[FACTOR_ACCOUNT] = (double)job->account;
	v[FACTOR_QOS] = (double)job->qos;
	v[FACTOR_HOOK] = job->hook;
	for (int i = 0; i < FACTOR_COUNT; i++)
		v[i] = v[i] > NO_LIMIT ? NO_LIMIT : v[i] < -NO_LIMIT ? -NO_LIMIT : v[i];
}

static double stage(double value, double low, double high, double weight)
{
	double x = (value - low) / (high - low);

	if (weight == 0)
		return 1;
	x = x < 0 ? 0 : x > 1 ? 1 : x;
	x = weight < 0 ? 1 - x : x;
	return fabs(weight) == 1 ? x : pow(x, fabs(weight));
}

void priority_weigh(const struct priority_settings *x, const struct prioritized *job, int64_t now, struct weighing *ret)
{
	bool product = x->order == PRIORITY_PRODUCT;

	values_of(job, now, ret->value);
	ret->priority = product;
	for (int i = 0; i < FACTOR_COUNT; i++) {
		double w = x->weight[i];
		ret->part[i] = product ? stage(ret->value[i], x->low[i], x->high[i], w) : w * ret->value[i];
		if (product)
			ret->priority *= ret->part[i];
		else
			ret->priority += ret->part[i];
	}
}
