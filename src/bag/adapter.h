/*
 * adapter.h - decides what to request from a cluster that gives processors only for a stated number and time, so that a bag is done soon
 * and its user needs to state neither.
 *
 * Pure: no clock, no I/O; `now` is part of the view. The broker and the simulator (src/sim/bagsim.c) call the same functions. The caller
 * carries out the orders, reports what tasks took, and asks again when a request has ended; heuristics that review their requests say when
 * they want to be asked besides (adapter_next). Never more requests are out than the limits allow.
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
	ADAPTER_STATIC,	    /* the open slots share the pending tasks, each for the longest time */
	ADAPTER_INITIAL,    /* one task's time, fewer processors the longer the queue; for comparison */
	ADAPTER_AS_PRINTED, /* adaptive as the source prints it */
	ADAPTER_ADAPTIVE,   /* ... with whole tasks, and no more than are pending */
	ADAPTER_MIXED,	    /* ... and one of the first requests is the largest one allowed */
	ADAPTER_OURS,
	ADAPTER_HEURISTICS
};

const char *adapter_name(enum adapter_heuristic h);
/* By its name. -EINVAL, with the names that are allowed. */
int adapter_find(const char *name, enum adapter_heuristic *ret, struct err *err);

struct adapter_limits {
	int requests;	     /* out at a time: submitted and not ended; 1 to ADAPTER_REQUESTS */
	int64_t procs;	     /* of a request, at most */
	int64_t time;	     /* seconds of a request, at most */
	int64_t first_guess; /* seconds that a task is assumed to take before anything is known; 0: 600 */
};
#define ADAPTER_REQUESTS 64

/* Processors of the cluster's plan that are free over [start, end): spans follow each other without a gap, the first starts at or before now,
 * the last ends at TIME_NEVER. What the bag's own waiting requests have reserved is not free. */
struct adapter_span {
	int64_t start, end, procs;
};

/* A request that is out. */
struct adapter_request {
	int64_t id;
	int64_t procs, time; /* as it was submitted */
	int64_t start;	     /* when it started, or is planned to; TIME_NEVER: not planned */
	int64_t busy;	     /* of one that runs: its processors that have a task */
	bool running;
};

struct adapter_view {
	int64_t now;
	const struct adapter_span *free;
	size_t nfree;
	const struct adapter_request *request;
	size_t nrequests;
	int64_t pending; /* tasks that are not finished */
	int64_t idle;	 /* ... of these, those that no worker has */
	int64_t oldest;	 /* seconds that the task longest at a worker has been there; 0: none is */
	int64_t queued;	 /* requests that wait in the cluster's queue, whoever's */
};

enum adapter_what {
	ADAPTER_SUBMIT,	 /* a request of procs and time */
	ADAPTER_CANCEL,	 /* request `id`, which waits */
	ADAPTER_SHRINK,	 /* request `id`, which waits, to procs: it keeps its place */
	ADAPTER_RELEASE, /* request `id`, which runs and has nothing to do */
};

struct adapter_order {
	enum adapter_what what;
	int64_t id, procs, time;
};

/* Orders of one decision at most: each request may go, and another come for it. */
#define ADAPTER_ORDERS (2 * ADAPTER_REQUESTS)

struct adapter;

struct adapter *adapter_create(enum adapter_heuristic h, const struct adapter_limits *limits, int64_t now);
void adapter_destroy(struct adapter *a);
/* Other limits hold from now on: the cluster refused what was allowed before. */
void adapter_limit(struct adapter *a, const struct adapter_limits *limits);

/* What is learnt: a task took that long; or its worker's request ended first, after the task had been there that long. */
void adapter_task_done(struct adapter *a, int64_t seconds);
void adapter_task_cut(struct adapter *a, int64_t seconds);
/* How long a task is thought to take at most, by now. */
int64_t adapter_estimate(const struct adapter *a);
/* Whether it makes sense to start a task where that many seconds are left. */
bool adapter_worth_starting(const struct adapter *a, int64_t left);

/* Orders for `ret`, which has room for ADAPTER_ORDERS, to be carried out in turn; how many. Cancelled requests are gone at once, and make room for those that are submitted. */
int adapter_decide(struct adapter *a, const struct adapter_view *v, struct adapter_order *ret);
/* When it wants to be asked again though no request has ended; TIME_NEVER: not at all. Heuristics that review also want to be asked when a request starts, and
 * when the first task is finished (adapter_reviews). */
int64_t adapter_next(const struct adapter *a, int64_t now);
bool adapter_reviews(const struct adapter *a);

#endif
