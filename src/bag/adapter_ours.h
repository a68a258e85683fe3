/*
 * adapter_ours.h - what the files of our own heuristic share: adapter_ours.c, and adapter_lone.c for a first request on which all depends.
 */
#ifndef BAG_ADAPTER_OURS_H
#define BAG_ADAPTER_OURS_H

#include "bag/adapter_internal.h"

#define STRETCH 2	  /* a candidate is made longer, up to this, where its hole is */
#define REPLACE 0.03	  /* what a request must bring that replaces a waiting one, as a logarithm, ... */
#define REPLACE_LARGE 0.1 /* ... in a large bag: a place in the queue for the whole machine is worth much */

enum { SCENES = 16, LENGTHS = 24 };

/* What a task may take: the longest, and usually. */
struct scene {
	double longest, usual;
};

struct ours {
	const struct adapter *a;
	const struct adapter_view *v;
	struct scene scene[SCENES];
	int nscenes;
	struct adapter_request set[ADAPTER_REQUESTS]; /* what is out, and what was chosen */
	int n;
	bool filling; /* open slots */
	span_vec holes;
};

/* A bag for which static would request the whole machine in every slot. */
bool ours_large(const struct ours *o);
/* When a request is thought to start. */
double ours_start(const struct ours *o, const struct adapter_request *r);
/* Tasks that one processor of a request finishes until `t`, from now on. */
double ours_finished(const struct ours *o, const struct adapter_request *r, const struct scene *e, double t);
/* When the set completes the bag, if a task takes that long. */
double ours_completion(const struct ours *o, const struct scene *e);
/* The lengths of candidates, the shortest first, and how many; and the next number of processors after `procs`. */
int ours_lengths(const struct ours *o, int64_t ret[LENGTHS]);
int64_t ours_wider(int64_t procs, int64_t limit);
/* Into the set, and one more order; out of the set. */
int ours_submit(struct ours *o, const struct candidate *c, struct adapter_order *ret, int n);
void ours_remove(struct ours *o, int at);

/* adapter_lone.c: the only request that may be out, of a large bag, while nothing is known of its tasks. */
int lone_decide(struct ours *o, struct adapter_order *ret, int n);

#endif
