/*
 * adapter_ours.h - declarations shared by the files of our own heuristic: adapter_ours.c, and
 * adapter_lone.c for a single request on which everything depends.
 */
#ifndef BAG_ADAPTER_OURS_H
#define BAG_ADAPTER_OURS_H

#include "bag/adapter_internal.h"

#define STRETCH 2    /* a candidate is lengthened up to this factor where its hole allows it */
#define REPLACE 0.03 /* gain that justifies replacing a waiting request, as a logarithm */
/* the same in a large bag, where a place in the queue for the whole machine is worth much */
#define REPLACE_LARGE 0.1

enum { SCENES = 16, LENGTHS = 24 };

/* An assumption about tasks: the longest time and the usual time of one, seconds. */
struct scene {
	double longest, usual;
};

struct ours {
	const struct adapter *a;
	const struct adapter_view *v;
	struct scene scene[SCENES];
	int nscenes;
	/* requests that are out, and those chosen so far */
	struct adapter_request set[ADAPTER_REQUESTS];
	int n;
	bool filling; /* open slots are being filled */
	span_vec holes;
};

/* Returns when a request is expected to start. */
double ours_start(const struct ours *o, const struct adapter_request *r);
/* Returns how many tasks one processor of a request finishes between now and `t`. */
double ours_finished(const struct ours *o, const struct adapter_request *r, const struct scene *e, double t);
/* Returns when the set completes the bag under a scene's assumption. */
double ours_completion(const struct ours *o, const struct scene *e);
/* ours_lengths() returns the lengths of candidates, the shortest first, and how many;
 * ours_wider() returns the next number of processors to try after `procs`. */
int ours_lengths(const struct ours *o, int64_t ret[LENGTHS]);
int64_t ours_wider(int64_t procs, int64_t limit);
/* ours_submit() adds a candidate to the set and appends its order; ours_remove() removes a
 * request from the set. */
int ours_submit(struct ours *o, const struct candidate *c, struct adapter_order *ret, int n);
void ours_remove(struct ours *o, int at);

/* adapter_lone.c: decides on the only request that may be out, for a large bag while nothing is
 * known of its tasks. */
int lone_decide(struct ours *o, struct adapter_order *ret, int n);

#endif
