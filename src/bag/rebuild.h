/*
 * rebuild.h - the plan of a cluster that shows only its queue: which processors are free when.
 *
 * Running jobs hold theirs until their limit. Waiting ones are put where they fit first, in their order, as conservative backfilling does; one whose start the
 * cluster shows keeps it. Processors are counted, not nodes: what is free may be scattered. Pure.
 */
#ifndef BAG_REBUILD_H
#define BAG_REBUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bag/adapter.h"
#include "bag/filler.h"
#include "base/vec.h"

enum {
	REBUILD_WAITING = 1000, /* waiting jobs that are planned; those behind them hardly matter */
	REBUILD_JOBS = 100000,	/* that are read */
};

struct rebuild_job {
	int64_t processors;
	int64_t end;	 /* of a running one, seconds since 1970 */
	int64_t seconds; /* of a waiting one */
	int64_t start;	 /* of a waiting one, as the cluster plans it; 0: unknown */
	int number;	 /* of our request; 0: not ours */
	bool running;
};

struct rebuild {
	int64_t processors; /* that are in service */
	VEC(struct rebuild_job) jobs;
	struct filler_plan places; /* of a Shunt server: which nodes they are on; otherwise empty */
	/* by rebuild_plan(): */
	VEC(struct adapter_span) free;
	int64_t queued;
};

void rebuild_clear(struct rebuild *r);
void rebuild_fini(struct rebuild *r);
/* Derives what is free, and the starts of waiting jobs. Their processors count as taken `margin` seconds before they start: a request that fills a hole starts some seconds after it
 * was decided, and the cluster may round its time up. */
void rebuild_plan(struct rebuild *r, int64_t now, int64_t margin);

#endif
