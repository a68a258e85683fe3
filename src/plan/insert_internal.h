/*
 * insert_internal.h - declarations shared by the files that insert jobs.
 */
#ifndef PLAN_INSERT_INTERNAL_H
#define PLAN_INSERT_INTERNAL_H

#include "plan/insert.h"

#define PUSH_WORK 64 /* maximum viable nodes tried by one insertion; bounds deep pushes */
/* the same for an insertion that may remove jobs, whose failures should be reliable */
#define POWER_WORK 4096
#define PUSH_DEPTH_MAX 8

/* A fragment to be placed on a node. */
struct goal {
	uint32_t job, frag, shape;
	int64_t start, end;
	bool apart;		  /* some fragment of the job is exclusive */
	enum wholeness whole;	  /* nodes or machines the job keeps to itself */
	const struct nodeset *on; /* nodes the fragment may use; NULL: all */
	/* partition of its node, as in node.partition; PARTITION_NONE: a node outside partitions */
	uint32_t partition;
};

/* A fragment that could be pushed nowhere but back to `node`. An equal fragment of another node
 * needs to try only that node. */
struct dead_end {
	uint32_t shape;
	int32_t node; /* the node it was to leave */
	int64_t start, end;
};

#define DEAD_ENDS 256

struct insertion {
	struct plan *p;
	bool live_only; /* free resources at `now` are those that no live piece holds */
	/* the common case: no partitions, fences or node sets, and fragments may share a node */
	bool plain;
	const struct manner *m;
	uint32_t job;  /* job being inserted; its powers also apply in deep pushes */
	uint32_t last; /* shape of the fragment that was placed, or failed to be placed, last */
	int work;      /* viable nodes left to try; starts at PUSH_WORK or POWER_WORK */
	/* nodes on the current chain of pushes; none is visited twice */
	int32_t chain[PUSH_DEPTH_MAX + 1];
	int nchain;
	int dead, ndead; /* range of plan.dead that holds now: first index and count */
};

/* Checks the parts of goal_allowed() that are seldom needed. */
bool goal_admitted(const struct insertion *in, const struct goal *g, int32_t node);
/* Returns true if the node may hold the fragment at all: it is up and allowed, has the features,
 * and exclusivity towards the job's other fragments is respected. */
static inline bool goal_allowed(const struct insertion *in, const struct goal *g, int32_t node)
{
	const struct cluster *c = in->p->cluster;
	const struct plan_node *n = &in->p->node[node];

	return n->up && features_cover(&c->features, n->features, c->shapes.v[g->shape].features) &&
	       ((in->plain && !g->on && !g->apart) || goal_admitted(in, g, node));
}

bool node_in_chain(const struct insertion *in, int32_t node);

/* offer.c: a node that could take some of a run of equal fragments. Offers are ordered by key,
 * then by area, then by node. */
struct offer {
	/* tenths of the time for which its owner is expected to want the node; higher values come
	 * last */
	int wanted;
	bool far;	  /* at another switch than the job's present nodes; such offers come last */
	double key, area; /* area: free CPU-seconds */
	int64_t copies;
	int32_t node;
};
typedef VEC(struct offer) offer_vec;

/* offer_make() returns the offer of one copy on a node with `area` free and `before` copies of
 * the run. */
/* Returns true if the goal is a share of a node's CPUs. It goes to the least used node, whatever
 * the allocator. */
bool offer_divides(const struct insertion *in, const struct goal *g);
struct offer offer_make(const struct insertion *in, const struct goal *g, int32_t node, double area, int64_t before);
bool offer_before(const struct offer *a, const struct offer *b);
/* offers_add() adds a node's offer: `copies` of the goal, of which `count` are wanted.
 * offers_choose() moves the offers that together take `count` to the front. */
void offers_add(offer_vec *v, const struct insertion *in, const struct goal *g, int32_t node, int64_t copies,
		uint32_t count, double area);
void offers_choose(offer_vec *v, const struct insertion *in, const struct goal *g, uint32_t count);

/* Returns the fitting node that the allocator prefers and that is not in the chain, or NODE_ANY. */
int32_t goal_best_fit(const struct insertion *in, const struct goal *g);

/* Returns how many copies of the goal the node could take as it is, and its free CPU-seconds. */
int64_t node_measure(const struct insertion *in, const struct goal *g, int32_t node, double *ret_area);

/* Puts the goal on the best viable node after making room there, with pushes at most `depth`
 * deep. */
bool goal_make_room(struct insertion *in, const struct goal *g, int depth);
/* Does the same on a given node. */
bool node_make_room(struct insertion *in, const struct goal *g, int32_t node, int depth);

/* Returns the node's timeline without the jobs in the goal's interval that this insertion may
 * remove. The result is borrowed until the next call. */
const struct timeline *node_cleared(const struct insertion *in, const struct goal *g, int32_t node);

/* Returns true if the node has room for the goal as it is. The caller checks goal_allowed(). */
bool goal_fits(const struct insertion *in, const struct goal *g, int32_t node);

/* whole.c: returns how many copies of a goal with whole nodes the node could take, and its free
 * CPU-seconds. */
int64_t whole_measure(const struct insertion *in, const struct goal *g, int32_t node, double *ret_area);
/* Returns true if the node, or its machine, would be empty over the goal's interval once all
 * jobs that this insertion may remove are gone. */
bool whole_is_free(const struct insertion *in, const struct goal *g, int32_t node);

void goal_put(struct insertion *in, const struct goal *g, int32_t node);

/* piece_removable() returns true if this insertion may remove the piece's job; remove_job()
 * removes it. A running job keeps its place until `needed`. */
bool piece_removable(const struct insertion *in, const struct piece *x);
void remove_job(struct plan *p, uint32_t job, int64_t needed);

/* partition.c: puts all fragments into one of the partitions that the job may use. */
bool partition_insert(struct insertion *in, const struct request *r, struct goal g);

#endif
