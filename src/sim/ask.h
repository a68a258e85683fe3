/*
 * ask.h - what a job of a workload asks of the cluster: its request, and the partitions that suit it.
 */
#ifndef SIM_ASK_H
#define SIM_ASK_H

#include "plan/pack.h"
#include "sim/workload.h"

struct ask {
	uint32_t request; /* of the cluster */
	uint32_t
		allowed; /* job.allowed: the partitions that suit it, or the nodes of its queue; NODES_ALL: any node outside partitions */
	bool parted; /* it runs in a partition */
};

/* -EINVAL with a sentence: it can never run. */
int ask_of(struct cluster *c, const struct workload *w, const struct wjob *j, struct ask *ret, struct err *err);

/* Whether the machine could hold it if it were empty; if not, why. */
enum fit ask_fit(const struct cluster *c, const struct ask *a, bool scatter, struct err *err);

#endif
