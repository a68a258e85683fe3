/*
 * ask.h - turns a job of a workload into a request to the cluster, and finds the partitions that
 * suit it.
 */
#ifndef SIM_ASK_H
#define SIM_ASK_H

#include "plan/pack.h"
#include "sim/workload.h"

struct ask {
	uint32_t request; /* request id in the cluster */
	/* job.allowed: suitable partitions, or the nodes of its queue; NODES_ALL: any node
	 * outside partitions */
	uint32_t allowed;
	bool parted; /* it runs in a partition */
};

/* Computes the ask of a job. -EINVAL: the job can never run. */
int ask_of(struct cluster *c, const struct workload *w, const struct wjob *j, struct ask *ret, struct err *err);

/* Decides if the machine could hold the job if it were empty; if not, `err` has the reason. */
enum fit ask_fit(const struct cluster *c, const struct ask *a, bool scatter, struct err *err);

#endif
