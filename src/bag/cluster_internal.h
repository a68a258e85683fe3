/*
 * cluster_internal.h - clusters that give processors on request, shared by
 *
 *	broker_cluster.c	their start and end, and what becomes of requests
 *	broker_request.c	when to request more
 *	broker_class.c		which needs of tasks they serve, and with which shape of requests
 */
#ifndef BAG_CLUSTER_INTERNAL_H
#define BAG_CLUSTER_INTERNAL_H

#include "bag/adapter.h"
#include "bag/broker_internal.h"

/* Needs in the same class differ by less than a factor of two: powers of two of CPUs, of memory for
 * each of them, and of seconds. */
struct class
{
	int64_t gpus;
	int cpus, memory, seconds;
};

/* What a request has achieved. */
struct account {
	double used;	    /* processor-seconds of tasks finished there */
	int64_t idle_since; /* microseconds; 0: it is in use */
	bool told;	    /* its end is in the journal */
	bool yielded;	    /* it was given back for another job */
	bool cut;	    /* a task was cut off by its end */
	bool released;	    /* it was given back because it had no task */
};

struct cluster {
	struct broker *broker;
	const char *place;
	int number; /* index among the clusters */
	struct class class;
	uint8_t *mine;	   /* by need: 1: it is in this class */
	uint8_t *served;   /* by need: 1: its tasks can be requested for; 0: others do that, or it is too large */
	struct strbuf why; /* words of the cluster when it last refused a need; empty: it did not */
	struct provider_user user;
	struct provider *provider;
	struct adapter *adapter;
	struct adapter_limits limits; /* limits given to the adapter; time -1: no end */
	bool elastic;
	bool gpus; /* GPUs can be requested there */
	struct provider_shape shape;
	/* each need has its own shape, since the cluster refused that of several together */
	bool exact;
	char tag[TAG_SIZE];
	VEC(struct account) accounts; /* by request - 1 */
	int64_t waiting;	      /* since when tasks wait; 0: none waits */
	int64_t decided;	      /* time of the adapter's last decision */
	uint64_t digest;	      /* digest of the requests' states at that time */
	/* after an allocation that finished no task: length of the pause in seconds, and its end by
	 * the clock of broker.now */
	int64_t pause, until;
	int64_t read; /* time of the plan that a filler used last */
};

/* In broker_class.c. */
void cluster_warn(void *arg, const char *text); /* struct provider_user */
/* Numbers the requests of all clusters together, from 1; 0 is a worker invited by hand. */
int allocation_of(const struct cluster *c, int id);
struct cluster *cluster_of(const struct broker *b, int allocation, int *ret_id);
/* Counts the processors of a request that have joined, and the tasks that they run. */
void allocation_joined(const struct broker *b, int allocation, int64_t *ret_procs, int64_t *ret_tasks);
struct class need_class(const struct bag_need *need);
bool class_same(const struct class *a, const struct class *b);
/* Returns true if a request of that size could run such a task. */
bool need_suits(const struct bag_need *need, bool gpus, int64_t processors, int64_t seconds);
/* Returns true if requests of this cluster may be made for tasks with that need. */
bool cluster_serves(const struct cluster *c, size_t need);
/* Makes requests as large as the largest tasks of the class that wait; if each need has its own
 * shape, as large as the first. */
void cluster_reshape(struct cluster *c);
/* Gives up requesting for tasks with the current shape, which the cluster refuses (struct
 * provider_user). A shape of several needs is divided first. */
bool cluster_refused(void *arg, const char *why);
/* Gives up requesting for tasks that no node of the plan can hold; returns false if there are
 * none. */
bool cluster_nodes(struct cluster *c, const struct provider_plan *plan);

/* In broker_request.c. */
/* Returns the number of processors wanted by waiting tasks that this cluster could run. */
int64_t cluster_demand(const struct cluster *c);
/* Asks the adapter. Free workers take the tasks that fit them before this is called, so tasks
 * that have waited for a while need more workers. */
void cluster_decide(struct cluster *c);
/* Requests a hole or gives it back, by the plan; called after each reading of it. */
void cluster_fill(struct cluster *c);

#endif
