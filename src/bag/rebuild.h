/*
 * rebuild.h - reconstructs the plan of a cluster that shows only its queue: how many processors are
 * free when.
 *
 * Running jobs hold their processors until their limit. Waiting jobs are placed where they first
 * fit, in their order, as conservative backfilling does; a job whose start the cluster shows keeps
 * it. Processors are counted, not nodes, so free processors may be scattered. Pure.
 */
#ifndef BAG_REBUILD_H
#define BAG_REBUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "bag/adapter.h"
#include "bag/filler.h"
#include "bag/provider.h"
#include "base/vec.h"

enum {
	/* waiting jobs that are planned, at most; those behind them hardly matter */
	REBUILD_WAITING = 1000,
	REBUILD_JOBS = 100000, /* maximum jobs that are read */
};

struct rebuild_job {
	int64_t processors;
	int64_t end;	 /* end of a running job, seconds since 1970 */
	int64_t seconds; /* time of a waiting job */
	int64_t start;	 /* planned start of a waiting job, as the cluster shows it; 0: unknown */
	int number;	 /* number of our request; 0: not ours */
	bool running;
};

struct rebuild {
	int64_t processors; /* processors in service */
	VEC(struct rebuild_job) jobs;
	VEC(struct provider_node) nodes; /* its kinds of nodes; empty: unknown */
	struct filler_plan places;	 /* jobs by node, if it is a Shunt server; otherwise empty */
	/* set by rebuild_plan(): */
	VEC(struct adapter_span) free;
	int64_t queued;
};

/* Notes a kind of node, unless another one has as much of everything. */
void rebuild_node(struct rebuild *r, const struct provider_node *n);
void rebuild_clear(struct rebuild *r);
void rebuild_fini(struct rebuild *r);
/* Computes the free processors and the starts of waiting jobs. Their processors count as taken
 * `margin` seconds before they start, because a request that fills a hole starts some seconds
 * after the decision, and the cluster may round its time up. */
void rebuild_plan(struct rebuild *r, int64_t now, int64_t margin);

#endif
