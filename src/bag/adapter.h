/*
 * adapter.h - decides what to request from a cluster that gives processors only in a stated number
 * for a stated time, so that a bag finishes soon and its user need not state either.
 *
 * Pure: no clock, no I/O; `now` is part of the view. The broker and the simulator
 * (src/sim/bagsim.c) call the same functions. The caller carries out the orders, reports how long
 * tasks took, and calls adapter_decide() again when a request has ended. Heuristics that review
 * their requests also set a time for the next call (adapter_next). There are never more requests
 * out than the limits allow.
 *
 * It lies in src/bag, which is below src/sim, and includes src/base only (tools/check-includes).
 */
#ifndef BAG_ADAPTER_H
#define BAG_ADAPTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum adapter_heuristic {
	/* divides the pending tasks among the open slots, each for the longest time */
	ADAPTER_STATIC,
	/* requests the most processors for the longest time in every open slot, however few tasks
	 * are pending; for comparison */
	ADAPTER_STATIC_MAX,
	/* requests one task's time, and fewer processors the longer the queue; for comparison */
	ADAPTER_INITIAL,
	ADAPTER_AS_PRINTED, /* adaptive exactly as the source prints it */
	ADAPTER_ADAPTIVE,   /* adaptive with whole tasks, and no more of them than are pending */
	ADAPTER_MIXED,	    /* adaptive, but one of the first requests is the one static would make */
	ADAPTER_MIXED_MAX,  /* adaptive, but one of the first requests is the largest allowed */
	ADAPTER_OURS,
	ADAPTER_HEURISTICS
};

const char *adapter_name(enum adapter_heuristic h);
/* Finds a heuristic by its name. -EINVAL: the message lists the valid names. */
int adapter_find(const char *name, enum adapter_heuristic *ret, struct err *err);

struct adapter_limits {
	int requests;	     /* requests submitted and not ended, at most; 1 to ADAPTER_REQUESTS */
	int64_t procs;	     /* maximum processors of a request */
	int64_t time;	     /* maximum seconds of a request */
	int64_t first_guess; /* assumed seconds of a task before anything is known; 0: 600 */
};
#define ADAPTER_REQUESTS 64

/* Processors of the cluster's plan that are free over [start, end). Spans follow each other
 * without gaps; the first starts at or before now, the last ends at TIME_NEVER. Processors
 * reserved by the bag's own waiting requests are not free. */
struct adapter_span {
	int64_t start, end, procs;
};

/* A request that is out. */
struct adapter_request {
	int64_t id;
	int64_t procs, time; /* requested size */
	int64_t start;	     /* actual or planned start; TIME_NEVER: not planned */
	int64_t busy;	     /* if it is running: number of its processors that have a task */
	bool running;
};

struct adapter_view {
	int64_t now;
	const struct adapter_span *free;
	size_t nfree;
	const struct adapter_request *request;
	size_t nrequests;
	int64_t pending; /* unfinished tasks */
	int64_t idle;	 /* unfinished tasks that no worker has */
	/* seconds since the oldest task at a worker was given to it; 0: no worker has a task */
	int64_t oldest;
	int64_t queued; /* waiting requests in the cluster's queue, of all users */
};

enum adapter_what {
	ADAPTER_SUBMIT, /* submit a request of `procs` and `time` */
	ADAPTER_CANCEL, /* cancel the waiting request `id` */
	/* reduce the waiting request `id` to `procs`; it keeps its place in the queue */
	ADAPTER_SHRINK,
	ADAPTER_RELEASE, /* release the running request `id`, which has nothing to do */
};

struct adapter_order {
	enum adapter_what what;
	int64_t id, procs, time;
};

/* Orders of one decision, at most: each request may be cancelled and replaced. */
#define ADAPTER_ORDERS (2 * ADAPTER_REQUESTS)

struct adapter;

struct adapter *adapter_create(enum adapter_heuristic h, const struct adapter_limits *limits, int64_t now);
void adapter_destroy(struct adapter *a);
/* Applies new limits, because the cluster refused what the old ones allowed. */
void adapter_limit(struct adapter *a, const struct adapter_limits *limits);

/* Record what is learnt of tasks: one took this long, or was cut off after this long by the end
 * of its worker's request. */
void adapter_task_done(struct adapter *a, int64_t seconds);
void adapter_task_cut(struct adapter *a, int64_t seconds);
/* Returns the longest time that a task is now expected to take, seconds. */
int64_t adapter_estimate(const struct adapter *a);
/* Returns true if it makes sense to start a task where that many seconds are left. */
bool adapter_worth_starting(const struct adapter *a, int64_t left);

/* Writes orders to `ret`, which has room for ADAPTER_ORDERS; returns how many. They are to be
 * carried out in turn. A cancelled request is gone at once, so it makes room for one submitted
 * after it. */
int adapter_decide(struct adapter *a, const struct adapter_view *v, struct adapter_order *ret);
/* Returns when to call adapter_decide() next even if no request has ended; TIME_NEVER: not
 * before one does. If adapter_reviews(), also call it when a request starts and when the first
 * task is finished. */
int64_t adapter_next(const struct adapter *a, int64_t now);
bool adapter_reviews(const struct adapter *a);

#endif
