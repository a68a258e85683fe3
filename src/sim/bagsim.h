/*
 * bagsim.h - one bag of tasks on a cluster that runs a trace, in virtual time: the same scheduler as everywhere, conservative on one pool of processors, and
 * the adapter (bag/adapter.h) that crafts the bag's requests.
 *
 * The broker is simulated as a plain work queue: each processor of a request that runs takes a task at random, and another when it is done. A task whose request ends first
 * begins again elsewhere.
 */
#ifndef SIM_BAGSIM_H
#define SIM_BAGSIM_H

#include "bag/adapter.h"
#include "sim/workload.h"

struct bag_type {
	int64_t tasks, mean; /* seconds of a task */
	int spread;	     /* 1: all tasks are equal; 2: mean/2 to 3 mean/2; 4: mean/4 to 7 mean/4 */
};

struct bag_case {
	enum adapter_heuristic heuristic;
	struct adapter_limits limits;
	struct bag_type type;
	uint64_t seed; /* of what each task takes, and of the order */
	bool filler;   /* it requests nothing: it has what is free, and gives it back as soon as a job needs it */
};

struct bag_outcome {
	int64_t seconds;		 /* from the bag's submission to its last task's end; -1: it was given up */
	double allocated;		 /* processor-seconds of its requests, */
	double wasted;			 /* ... less what its tasks took that were finished */
	int64_t requests, replaced, cut; /* requests made; waiting ones that were cancelled; tasks cut off */
};

struct bagsim;

/* Over a trace, whose jobs ask for processors, on a pool of them; a trace that ends begins again. The workload is borrowed. */
struct bagsim *bagsim_create(const struct workload *w, int64_t procs);
void bagsim_destroy(struct bagsim *b);
/* Until just before what happens after `instant`. */
void bagsim_advance(struct bagsim *b, int64_t instant);
int64_t bagsim_now(const struct bagsim *b);
/* A bag is submitted now; until it is done, or given up after `give_up` seconds (0: never). */
struct bag_outcome bagsim_bag(struct bagsim *b, const struct bag_case *c, int64_t give_up);

/* Called at every start of a job of the trace, by its place in the workload (repetitions count on); for tests. NULL: nobody is told. */
void bagsim_on_start(struct bagsim *b, void (*start)(void *context, int64_t job, int64_t at), void *context);

#endif
