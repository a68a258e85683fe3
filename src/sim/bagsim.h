/*
 * bagsim.h - one bag of tasks on a cluster that runs a trace, in virtual time: the usual scheduler
 * with conservative backfilling on one pool of processors, and the adapter (bag/adapter.h) that
 * makes the bag's requests.
 *
 * The broker is simulated as a plain work queue: each processor of a running request takes a task
 * at random, and another when that is done. A task whose request ends first starts again elsewhere.
 */
#ifndef SIM_BAGSIM_H
#define SIM_BAGSIM_H

#include "bag/adapter.h"
#include "sim/workload.h"

struct bag_type {
	int64_t tasks, mean; /* mean: seconds of a task */
	int spread;	     /* 1: all tasks are equal; 2: mean/2 to 3 mean/2; 4: mean/4 to 7 mean/4 */
};

struct bag_case {
	enum adapter_heuristic heuristic;
	struct adapter_limits limits;
	struct bag_type type;
	uint64_t seed; /* determines the time of each task and their order */
	/* it makes no requests: it uses what is free, and gives it back as soon as a job needs
	 * it */
	bool filler;
};

struct bag_outcome {
	int64_t seconds;  /* from the bag's submission to the end of its last task; -1: it gave up */
	double allocated; /* processor-seconds of its requests */
	double wasted;	  /* allocated processor-seconds minus the time of finished tasks */
	/* requests made; waiting requests cancelled; tasks cut off */
	int64_t requests, replaced, cut;
};

struct bagsim;

/* Creates a simulation of a trace, whose jobs request processors, on a pool of them. A trace
 * that ends starts over. The workload is borrowed. */
struct bagsim *bagsim_create(const struct workload *w, int64_t procs);
void bagsim_destroy(struct bagsim *b);
/* Simulates everything up to and including `instant`. */
void bagsim_advance(struct bagsim *b, int64_t instant);
/* Submits a bag now, and simulates until it is done, or gives up after `give_up` seconds (0:
 * never). */
struct bag_outcome bagsim_bag(struct bagsim *b, const struct bag_case *c, int64_t give_up);

/* Sets a function called at every start of a job of the trace, with its index in the workload
 * (continued when the trace starts over); for tests. NULL: none. */
void bagsim_on_start(struct bagsim *b, void (*start)(void *context, int64_t job, int64_t at), void *context);

#endif
