/*
 * plan.h - who holds what, on which node, when.
 *
 * A *piece* is a fragment on a node over an interval: of a running job, of one that starts now, or of a reserved one.
 * The plan owns the pieces and what follows from them: each node's timeline, the cluster's (the sum), and where each
 * job's fragments are. It knows no policy.
 *
 * Changes are put and take. Between plan_begin() and plan_commit() they are logged, and plan_rollback() undoes them
 * exactly: the plan is then bit for bit as it was. Marks nest.
 *
 * A live piece holds its node from the beginning of time: the past is never asked about, and so there is nothing to forget. A piece put
 * at or before `now` is live; a reserved one becomes so when its job starts.
 *
 * A job that asks for whole nodes (enum wholeness) takes all of each node that it has a piece on, whatever the node's size: once,
 * with the first of its pieces there, until the last is gone. With whole machines the same goes for all of their nodes.
 *
 * What the site has of something (cluster.amounts) has a timeline, too; a job holds its portions with the first of its fragments.
 *
 * Invariants (plan_check): on every node, at every instant, the pieces' needs and what is free add up to the total, and
 * nothing is negative; the cluster's timeline is the sum of the nodes'; an exclusive fragment shares its node with no
 * other fragment of its job; a job with whole nodes shares them with no other job, and its own pieces fit there together; where a
 * node is booked (booking.h) nothing is free, and nothing is planned but what was running already; the portions that jobs hold of an amount and what is free of it add up, and it is negative
 * nowhere but where running jobs alone hold it; what is planned and does not run passes all fences, and leaves what those with parts keep, but for what runs (fence.h).
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/cluster.h"
#include "core/fence.h"
#include "plan/timeline.h"

struct piece {
	int64_t start, end;
	uint32_t job;
	uint32_t frag; /* index into the request's fragments */
	uint32_t shape;
	bool live;     /* counted in free_now: it runs, or is to start now */
	bool running;  /* nothing moves it but a migration */
	bool fixed;    /* the request names its node */
	uint8_t whole; /* enum wholeness */
};

typedef VEC(struct piece) piece_vec;

/* Who has a part of the plan that is not a job's. */
enum owner_kind {
	OWNER_RESTART, /* a job that will be displaced is to start again there; id: the job */
	OWNER_LEAVES,  /* the end of a node's life: it leaves at a known time; id: the node */
	OWNER_OUTAGE,  /* the machine is shut down; id: 0 */
};

struct owner {
	enum owner_kind kind;
	uint32_t id;
};

/* All of a node, over an interval (booking.h). */
struct booking {
	int64_t start, end;
	struct owner owner;
};

typedef VEC(struct booking) booking_vec;

struct plan_node {
	struct timeline line;
	bool up; /* this and the features as the cluster has them: what a scan reads lies together */
	uint32_t features;
	uint32_t loose;	       /* pieces that can be pushed: neither running nor fixed */
	piece_vec pieces;      /* in no order */
	booking_vec *bookings; /* by their starts, apart from each other; NULL: it never had one */
	fence_vec *fences;     /* the same */
};

/* So many of an amount that are kept for some jobs over an interval (fence.h). */
struct kept_amount {
	uint32_t amount;
	int64_t count;
	struct fence fence;
	struct timeline room; /* what is left for those without the key; counts only in that interval */
};

/* Where a fragment is: its node, and its index among the node's pieces. */
struct place {
	int32_t node; /* NODE_ANY: nowhere */
	uint32_t slot;
};

/* A job's fragments; `many` is used when it has more than one. */
struct hold {
	uint32_t nfrags; /* 0: the job was never here */
	uint32_t placed; /* fragments that have a place */
	uint32_t keys;	 /* the job's, when what it takes of amounts was counted last */
	union {
		struct place one;
		struct place *many;
	};
};

/* One primitive change, to be undone. */
struct undo {
	struct piece piece;
	int32_t node;
	uint32_t slot;
	uint32_t keys; /* of the job's hold */
	enum { UNDO_PUT, UNDO_TAKE } what;
};

struct plan {
	const struct cluster *cluster;
	int64_t now;
	struct plan_node *node;
	uint32_t nnodes;
	struct res *total;   /* per node: all that it has, up or not */
	int32_t *free_now;   /* per node: CPUs that no live piece holds */
	struct timeline sum; /* of all nodes that are up, less what is pending; unused when there is one node */
	struct {
		int64_t start, end; /* equal: nothing */
		struct res change;
	} pending; /* a change of the sum, gathered over the fragments of a job; none is left outside transactions */
	VEC(struct timeline) amount;  /* by cluster.amounts: what is free of each, of one dimension ... */
	VEC(int64_t) amount_total;    /* ... and what there is, as this plan knows it */
	VEC(struct kept_amount) kept; /* of them, for some jobs */
	uint32_t loose;		      /* over all nodes */
	uint32_t wholes;	      /* pieces of jobs with whole nodes or machines ... */
	uint32_t machines;	      /* ... and with whole machines */
	uint32_t nreserved;	      /* pieces that are not live */
	int64_t horizon;	/* no reserved piece or booking starts after it: from there on the sum only grows */
	int64_t last_booking;	/* when the last one starts; TIME_BEGIN: there is none */
	uint32_t parts;		/* fences that keep a part of their node */
	VEC(int64_t) edges;	/* when fences begin and end, each instant once, sorted */
	VEC(struct hold) holds; /* by job id */
	VEC(struct undo) log;
	int depth;		  /* transactions open */
	struct timeline scratch;  /* push.c, */
	struct dead_end *dead;	  /* ... where searches came to nothing; NULL: none did yet */
	struct map packs;	  /* of pack.c: searches made in vain */
	int gathering;		  /* changes of several fragments under way */
	uint64_t version;	  /* grows with every change */
	uint64_t work;		  /* nodes that insertions have looked at: what they cost, whatever the machine */
	uint64_t moves, attempts; /* fragments pushed (undone pushes too), insertions tried: statistics */
};

/* A plan over the cluster's nodes, empty. The cluster must outlive it. */
struct plan *plan_create(const struct cluster *c);
void plan_destroy(struct plan *p);

/* Sets the instant. Not inside a transaction. */
static inline void plan_advance(struct plan *p, int64_t now)
{
	p->now = now;
}

/* Transactions. plan_begin returns a mark: roll back to it or commit it, once, innermost first. */
typedef size_t plan_mark;
plan_mark plan_begin(struct plan *p);
void plan_rollback(struct plan *p, plan_mark mark);
void plan_commit(struct plan *p, plan_mark mark);

typedef VEC(uint32_t) job_vec;
/* The jobs whose pieces changed since the mark, each once, in the order of the first change. Those that hold nothing
 * any more were removed; the others were placed or moved. */
void plan_touched(const struct plan *p, plan_mark mark, job_vec *ret);
/* When a job that was touched since the mark, and had a place then, was to end. */
int64_t plan_end_before(const struct plan *p, plan_mark mark, uint32_t job);

/* The nodes that a piece on `node` keeps others from: that one, or, with whole machines, the machine's. From `at`, which is
 * `node` at first, to the next; `node` again: those were all. */
static inline int32_t plan_next_whole(const struct plan *p, enum wholeness whole, int32_t node, int32_t at)
{
	return whole == WHOLE_HOST ? p->cluster->nodes.v[at].peer : node;
}

/* Whether a fragment of a job other than `frag` is on the node, or with whole machines on one of the same machine. */
bool plan_whole_held(const struct plan *p, enum wholeness whole, uint32_t job, uint32_t frag, int32_t node);

/* The first fragment of a piece's job on the node, or with whole machines on one of the same machine. */
uint32_t plan_whole_first(const struct plan *p, const struct piece *x, int32_t node);

/* Puts a fragment that is nowhere; it must fit. Takes one that is somewhere. */
void plan_put(struct plan *p, uint32_t job, uint32_t frag, int32_t node, int64_t start, int64_t end);
/* All fragments of a job, where they are in another plan of the same cluster, whether or not their time has come. */
void plan_adopt(struct plan *p, const struct plan *from, uint32_t job);
void plan_take(struct plan *p, uint32_t job, uint32_t frag);
void plan_forget(struct plan *p, uint32_t job);	  /* a job that has no place, and may come again with another request */
void plan_take_job(struct plan *p, uint32_t job); /* all fragments that have a place; outside a transaction for good */

/* Changes when a job's pieces end: it ended early (end = now is a take), was moved, or runs longer than predicted.
 * Overcommits silently when there is no room: for running jobs, whose resources are a fact. */
void plan_set_end(struct plan *p, uint32_t job, int64_t end);
/* The same for a job that runs, inside a transaction. False, and nothing is changed: there is no room for it to run longer. */
bool plan_cut(struct plan *p, uint32_t job, int64_t end);
/* A job is started where it is planned: its pieces run from now on. */
void plan_run(struct plan *p, uint32_t job);

/* Brings what is pending into the sum. */
static inline void plan_settle(struct plan *p)
{
	timeline_change(&p->sum, p->pending.start, p->pending.end, &p->pending.change, 1);
	p->pending.end = p->pending.start;
}

/* The cluster's timeline: total free over time. */
static inline struct timeline *plan_sum(struct plan *p)
{
	if (p->nnodes == 1)
		return &p->node[0].line;
	if (p->pending.start != p->pending.end)
		plan_settle(p);
	return &p->sum;
}

static inline const struct place *plan_place(const struct plan *p, uint32_t job, uint32_t frag)
{
	const struct hold *h = &p->holds.v[job];

	return h->nfrags == 1 ? &h->one : &h->many[frag];
}

static inline bool plan_holds(const struct plan *p, uint32_t job)
{
	return job < p->holds.n && p->holds.v[job].placed > 0;
}

/* A piece of a job that has one. */
static inline const struct piece *plan_piece(const struct plan *p, uint32_t job, uint32_t frag)
{
	const struct place *at = plan_place(p, job, frag);

	return &p->node[at->node].pieces.v[at->slot];
}

/* The node of each of a job's fragments, into `nodes` (as many as the request has). */
void plan_nodes(const struct plan *p, uint32_t job, int32_t *nodes);

/* Folds an event's placement into the plan: with job_apply() this is recovery. */
void plan_apply(struct plan *p, const struct event *event);

/* A node goes down or comes up: what it has is taken out of, or put back into, what is free. It must hold no piece. */
void plan_node_up(struct plan *p, uint32_t node, bool up);

/* The cluster counts more than it did when the plan was made (cluster_count): the plan follows, outside a transaction. */
void plan_widen(struct plan *p);
/* A node has more or less than it had when the plan was made: the plan follows, outside a transaction. It must hold no reserved piece. */
void plan_resize_node(struct plan *p, uint32_t node);
/* What the cluster has of an amount is other than it was, or it is new: the plan follows, outside a transaction. What is planned and has no room any more is for
 * the caller to take out. */
void plan_set_amount(struct plan *p, uint32_t amount);
/* Whether what a job takes of the site's amounts is free over [start, end); and the earliest instant >= from from which it is for that long. */
bool plan_amounts_fit(const struct plan *p, uint32_t job, int64_t start, int64_t end);
int64_t plan_amounts_earliest(const struct plan *p, uint32_t job, int64_t from, int64_t length);
/* What of an amount is free at every instant of [start, end). */
int64_t plan_amount_free(const struct plan *p, uint32_t amount, int64_t start, int64_t end);
/* The same for a job: less what is kept for others. *ret (unless NULL) is what keeps the most from it; NULL: nothing does. */
int64_t plan_amount_open(const struct plan *p, uint32_t job, uint32_t amount, int64_t start, int64_t end,
			 const struct kept_amount **ret);

/* Asserts the invariants, by computing everything again from the pieces. Slow: for tests. */
void plan_check(const struct plan *p);
/* Whether two plans hold the same pieces and the same timelines. Slow: for tests. */
bool plan_equal(const struct plan *a, const struct plan *b);
struct plan *plan_clone(const struct plan *p);

#endif
