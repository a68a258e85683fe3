/*
 * insert_internal.h - what insert.c and push.c share.
 */
#ifndef PLAN_INSERT_INTERNAL_H
#define PLAN_INSERT_INTERNAL_H

#include "plan/insert.h"

#define PUSH_WORK 64	/* viable nodes tried by one insertion: bounds deep pushes ... */
#define POWER_WORK 4096 /* ... and by one that may remove others: what it claims to be impossible should be */
#define PUSH_DEPTH_MAX 8

/* A fragment on its way to a node. */
struct goal {
	uint32_t job, frag, shape;
	int64_t start, end;
	bool apart;		  /* some fragment of the job is exclusive */
	enum wholeness whole;	  /* what the job keeps to itself */
	const struct nodeset *on; /* the nodes it may use; NULL: all */
	uint32_t partition; /* that its node is in, as in node.partition; PARTITION_NONE: a node outside partitions */
};

/* What could not be pushed anywhere but back: equal fragments of another node need only try that one. */
struct dead_end {
	uint32_t shape;
	int32_t node; /* the one it was to leave */
	int64_t start, end;
};

#define DEAD_ENDS 256

struct insertion {
	struct plan *p;
	bool live_only; /* what is free now is what no live piece holds */
	bool plain; /* no partitions, fences or sets of nodes, and fragments may share a node: what mostly is the case */
	const struct manner *m;
	uint32_t job;			   /* the one being inserted: its powers count, also in deep pushes */
	uint32_t last;			   /* the shape of its fragment that was placed last, or could not be */
	int work;			   /* PUSH_WORK or POWER_WORK, and down */
	int32_t chain[PUSH_DEPTH_MAX + 1]; /* nodes on the present chain of pushes: none is visited twice */
	int nchain;
	int dead, ndead; /* in plan.dead: the first that is true now, and how many there are */
};

/* The part of goal_allowed() that is seldom needed. */
bool goal_admitted(const struct insertion *in, const struct goal *g, int32_t node);
/* Whether the node may hold the fragment at all: up, allowed, features, exclusivity towards the job's other fragments. */
static inline bool goal_allowed(const struct insertion *in, const struct goal *g, int32_t node)
{
	const struct cluster *c = in->p->cluster;
	const struct plan_node *n = &in->p->node[node];

	return n->up && features_cover(&c->features, n->features, c->shapes.v[g->shape].features) &&
	       ((in->plain && !g->on && !g->apart) || goal_admitted(in, g, node));
}

bool node_in_chain(const struct insertion *in, int32_t node);

/* offer.c: a node that could take some of a run of equal fragments. The least key comes first, then the least area, then the first node. */
struct offer {
	int wanted;	  /* tenths of the time that its owner will want it, by habit: those come last */
	bool far;	  /* it is at another switch than what the job has already: those come last */
	double key, area; /* area: free CPU-seconds */
	int64_t copies;
	int32_t node;
};
typedef VEC(struct offer) offer_vec;

/* One copy on a node with that much free, where `before` others of the same run are; and whether it comes before another. */
/* The goal is a share of a node's CPUs: it goes where the least is taken, whatever the allocator. */
bool offer_divides(const struct insertion *in, const struct goal *g);
struct offer offer_make(const struct insertion *in, const struct goal *g, int32_t node, double area, int64_t before);
bool offer_before(const struct offer *a, const struct offer *b);
/* Adds what a node offers: `copies` of the goal, of which `count` are wanted; and brings those to the front that together take `count`. */
void offers_add(offer_vec *v, const struct insertion *in, const struct goal *g, int32_t node, int64_t copies,
		uint32_t count, double area);
void offers_choose(offer_vec *v, const struct insertion *in, const struct goal *g, uint32_t count);

/* The fitting node that the allocation prefers, not among the chain; NODE_ANY: none. */
int32_t goal_best_fit(const struct insertion *in, const struct goal *g);

/* Copies of the goal that the node could take as it is, and the free CPU-seconds there. */
int64_t node_measure(const struct insertion *in, const struct goal *g, int32_t node, double *ret_area);

/* Puts the goal on the best viable node after making room there, pushing at most `depth` deep. */
bool goal_make_room(struct insertion *in, const struct goal *g, int depth);
/* The same on a node that is given. */
bool node_make_room(struct insertion *in, const struct goal *g, int32_t node, int depth);

/* The node's timeline without the jobs in the goal's interval that this insertion may remove; borrowed, until the next call. */
const struct timeline *node_cleared(const struct insertion *in, const struct goal *g, int32_t node);

/* Whether the node has room for it as things are; that it is allowed there is not asked. */
bool goal_fits(const struct insertion *in, const struct goal *g, int32_t node);

/* whole.c: copies of a goal with whole nodes that the node could take, and the CPU-seconds there. */
int64_t whole_measure(const struct insertion *in, const struct goal *g, int32_t node, double *ret_area);
/* Whether the node, or its machine, is empty over the goal's interval, with all jobs gone that this insertion may remove. */
bool whole_is_free(const struct insertion *in, const struct goal *g, int32_t node);

void goal_put(struct insertion *in, const struct goal *g, int32_t node);

/* Whether this insertion may remove a piece's job; and its removal. One that runs keeps its place until it is needed. */
bool piece_removable(const struct insertion *in, const struct piece *x);
void remove_job(struct plan *p, uint32_t job, int64_t needed);

/* partition.c: all fragments into one of the partitions that the job may use. */
bool partition_insert(struct insertion *in, const struct request *r, struct goal g);

#endif
