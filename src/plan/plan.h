/*
 * plan.h - who holds what, on which node, when.
 *
 * A *piece* is a fragment on a node over an interval: of a running job, of one that starts now, or
 * of a reserved one. The plan owns the pieces and everything derived from them: each node's
 * timeline, the cluster's (the sum), and the place of each job's fragments. It knows no policy.
 *
 * Changes are put and take. Between plan_begin() and plan_commit() they are logged, and
 * plan_rollback() undoes them exactly: the plan is then bit for bit as it was. Marks nest.
 *
 * A live piece holds its node from the beginning of time: nothing queries the past, so nothing has
 * to be forgotten. A piece put at or before `now` is live; a reserved piece becomes live when its
 * job starts.
 *
 * A job that asks for whole nodes (enum wholeness) takes all of each node that it has a piece on,
 * whatever the node's size. The node is taken once, with the job's first piece there, until the
 * last piece is gone. With whole machines the same applies to all nodes of the machine.
 *
 * Amounts of the site (cluster.amounts) also have timelines; a job holds its portions with its
 * first fragment.
 *
 * Invariants (plan_check):
 * - On every node, at every instant, the needs of the pieces and the free amounts add up to the
 *   total, and nothing is negative.
 * - The cluster's timeline is the sum of the nodes'.
 * - An exclusive fragment shares its node with no other fragment of its job.
 * - A job with whole nodes shares them with no other job, and its own pieces fit there together.
 * - Where a node is booked (booking.h) nothing is free, and only jobs that were already running are
 *   planned.
 * - The portions of an amount that jobs hold and its free part add up; the free part is negative
 *   only where running jobs alone hold the amount.
 * - Pieces that are planned but not running pass all fences and leave the kept parts of nodes free,
 *   except for what running jobs use (fence.h).
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/cluster.h"
#include "core/fence.h"
#include "plan/timeline.h"
#include "plan/trail.h"

struct piece {
	int64_t start, end;
	uint32_t job;
	uint32_t frag; /* index into the request's fragments */
	uint32_t shape;
	bool live;     /* counted in free_now: running, or about to start */
	bool running;  /* running: only a migration moves it */
	bool fixed;    /* the request names its node */
	uint8_t whole; /* enum wholeness */
};

typedef VEC(struct piece) piece_vec;

/* Owners of parts of the plan that no job holds. */
enum owner_kind {
	OWNER_RESTART, /* place kept for a job that will be displaced to start again; id: the job */
	OWNER_LEAVES,  /* end of a node's life, at a known time; id: the node */
	OWNER_OUTAGE,  /* announced shutdown of the machine; id: 0 */
};

struct owner {
	enum owner_kind kind;
	uint32_t id;
};

/* All of a node over an interval (booking.h). */
struct booking {
	int64_t start, end;
	struct owner owner;
};

typedef VEC(struct booking) booking_vec;

struct plan_node {
	struct timeline line;
	bool up; /* copies of the cluster's `up` and features, kept next to other data that scans read */
	uint32_t features;
	uint32_t loose;	       /* number of pieces that can be pushed: neither running nor fixed */
	piece_vec pieces;      /* unordered */
	booking_vec *bookings; /* sorted by start, without overlaps; NULL: the node never had one */
	fence_vec *fences;     /* sorted by start, without overlaps; NULL: the node never had one */
};

/* A number of units of an amount, kept for some jobs over an interval (fence.h). */
struct kept_amount {
	uint32_t amount;
	int64_t count;
	struct fence fence;
	struct timeline room; /* units left for jobs without the key; valid only in that interval */
};

/* Place of a fragment: its node, and its index among the node's pieces. */
struct place {
	int32_t node; /* NODE_ANY: not placed */
	uint32_t slot;
};

/* A job's fragments; `many` is used when there is more than one. */
struct hold {
	uint32_t nfrags; /* 0: nothing is recorded for the job */
	uint32_t placed; /* number of fragments that have a place */
	uint32_t keys;	 /* the job's keys when its use of amounts was last counted */
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
	uint32_t keys; /* keys of the job's hold */
	enum { UNDO_PUT, UNDO_TAKE } what;
};

#define FREE_BLOCK 64 /* nodes; see plan.free_most */

struct plan {
	const struct cluster *cluster;
	int64_t now;
	struct plan_node *node;
	uint32_t nnodes;
	struct res *total; /* total resources per node, up or down */
	int32_t *free_now; /* CPUs per node that no live piece holds */
	/* per FREE_BLOCK nodes: the most of them on one node, so that scans skip blocks without room */
	int32_t *free_most;
	/* per FREE_BLOCK nodes: the first instant at which something begins or ends on one of them;
	 * TIME_BEGIN: it must be derived again (plan_block_changes) */
	int64_t *changes;
	int64_t free_sum; /* sum of free_now */
	/* free on all nodes that are up, without `pending`; unused when there is one node */
	struct timeline sum;
	struct {
		int64_t start, end; /* equal: nothing is pending */
		struct res change;
	} pending; /* change of the sum, gathered over a job's fragments; empty outside transactions */
	VEC(struct timeline) amount;  /* free units over time, one dimension; indexed as cluster.amounts */
	VEC(int64_t) amount_total;    /* total units, as this plan knows them */
	VEC(struct kept_amount) kept; /* units kept for some jobs */
	uint32_t loose;		      /* loose pieces of all nodes */
	uint32_t wholes;	      /* pieces of jobs with whole nodes or machines */
	uint32_t machines;	      /* pieces of jobs with whole machines */
	uint32_t nreserved;	      /* pieces that are not live */
	/* upper bound on the starts of reserved pieces and bookings: after it the sum only grows */
	int64_t horizon;
	/* upper bound on the instants at which CPUs were given back since a caller reset it */
	int64_t released;
	int64_t last_booking; /* latest start of a booking; TIME_BEGIN: none */
	uint32_t parts;	      /* fences that keep only a part of their node */
	VEC(int64_t) edges;   /* instants at which fences begin and end, distinct and sorted */
	struct rows holds;    /* struct hold, by job id; those of the latest jobs may be missing */
	VEC(struct undo) log;
	int depth;		 /* number of open transactions */
	struct timeline scratch; /* scratch of push.c */
	struct dead_end *dead;	 /* push.c: failed searches; NULL: none yet */
	struct map packs;	 /* pack.c: failed searches */
	int gathering;		 /* number of changes to several fragments under way */
	struct trail trail;	 /* where nodes got or lost something, if a caller follows */
	uint64_t version;	 /* incremented by every change */
	uint64_t given;		 /* incremented when a node gets something back, except by a rollback */
	bool undoing;		 /* a rollback is under way */
	uint64_t work;		 /* nodes examined by insertions: their cost, independent of the machine */
	/* statistics: fragments pushed (including undone pushes), insertions tried */
	uint64_t moves, attempts;
};

/* Creates an empty plan over the cluster's nodes. The cluster must outlive it. */
struct plan *plan_create(const struct cluster *c);
void plan_destroy(struct plan *p);

/* Sets the current instant, outside a transaction. */
static inline void plan_advance(struct plan *p, int64_t now)
{
	p->now = now;
}

/* Returns the first instant at which a piece or a booking of any node of a block begins, or ends if
 * it has begun: until then each of these nodes has free what free_now shows, or less. TIME_NEVER:
 * nothing changes; TIME_BEGIN: not known. */
int64_t plan_block_changes(const struct plan *p, uint32_t block);

/* Transactions. plan_begin() returns a mark: roll back to it or commit it, once, innermost
 * first. */
typedef size_t plan_mark;
plan_mark plan_begin(struct plan *p);
void plan_rollback(struct plan *p, plan_mark mark);
void plan_commit(struct plan *p, plan_mark mark);

typedef VEC(uint32_t) job_vec;
/* Lists the jobs whose pieces changed since the mark, each once, in the order of the first
 * change. A job that no longer holds anything was removed; the others were placed or moved. */
void plan_touched(const struct plan *p, plan_mark mark, job_vec *ret);
/* Returns the planned end, at the mark, of a job that had a place then and was touched since. */
int64_t plan_end_before(const struct plan *p, plan_mark mark, uint32_t job);

/* Iterates over the nodes that a piece on `node` keeps others from: the node itself or, with
 * whole machines, all nodes of the machine. Start with at = node; the iteration ends when it
 * returns `node`. */
static inline int32_t plan_next_whole(const struct plan *p, enum wholeness whole, int32_t node, int32_t at)
{
	return whole == WHOLE_HOST ? p->cluster->nodes.v[at].peer : node;
}

/* Returns true if a fragment of the job other than `frag` is on the node or, with whole
 * machines, on any node of its machine. */
bool plan_whole_held(const struct plan *p, enum wholeness whole, uint32_t job, uint32_t frag, int32_t node);

/* Returns the first fragment of the piece's job on the node or, with whole machines, on any node
 * of its machine. */
uint32_t plan_whole_first(const struct plan *p, const struct piece *x, int32_t node);

/* Puts a fragment that has no place; it must fit. plan_take() removes a fragment that has one. */
void plan_put(struct plan *p, uint32_t job, uint32_t frag, int32_t node, int64_t start, int64_t end);
/* Puts all fragments of a job where they are in another plan of the same cluster; they are live if
 * they are live there. */
void plan_adopt(struct plan *p, const struct plan *from, uint32_t job);
void plan_take(struct plan *p, uint32_t job, uint32_t frag);
/* for a job without a place that may return with another request */
void plan_forget(struct plan *p, uint32_t job);
/* Frees the records of the job's page (base/rows.h), none of which has a place. */
void plan_release(struct plan *p, uint32_t job);
/* takes all placed fragments; cannot be undone outside a transaction */
void plan_take_job(struct plan *p, uint32_t job);

/* Changes the end of a job's pieces: the job ended early (end = now takes it), was moved, or
 * runs longer than predicted. Overcommits silently if there is no room, because running jobs use
 * their resources in any case. */
void plan_set_end(struct plan *p, uint32_t job, int64_t end);
/* Does the same for a running job inside a transaction. Returns false, without any change, if
 * there is no room for it to run longer. */
bool plan_cut(struct plan *p, uint32_t job, int64_t end);
/* Marks a job as started at its planned place: its pieces are running from now on. */
void plan_run(struct plan *p, uint32_t job);

/* Adds the pending change to the sum. */
static inline void plan_settle(struct plan *p)
{
	timeline_change(&p->sum, p->pending.start, p->pending.end, &p->pending.change, 1);
	p->pending.end = p->pending.start;
}

/* Returns the cluster's timeline: total free over time. */
static inline struct timeline *plan_sum(struct plan *p)
{
	if (p->nnodes == 1)
		return &p->node[0].line;
	if (p->pending.start != p->pending.end)
		plan_settle(p);
	return &p->sum;
}

/* Returns the record of a job's places; only of a job below holds.n. */
static inline struct hold *plan_hold(const struct plan *p, uint32_t job)
{
	return rows_at(&p->holds, job, sizeof(struct hold));
}

/* Makes sure that there is such a record. */
static inline void hold_ready(struct plan *p, uint32_t job)
{
	rows_reach(&p->holds, job + 1, sizeof(struct hold), &p->cluster->jobs);
}

static inline const struct place *plan_place(const struct plan *p, uint32_t job, uint32_t frag)
{
	const struct hold *h = plan_hold(p, job);

	return h->nfrags == 1 ? &h->one : &h->many[frag];
}

static inline bool plan_holds(const struct plan *p, uint32_t job)
{
	return job < p->holds.n && plan_hold(p, job)->placed > 0;
}

/* Returns a piece of a job that has a place. */
static inline const struct piece *plan_piece(const struct plan *p, uint32_t job, uint32_t frag)
{
	const struct place *at = plan_place(p, job, frag);

	return &p->node[at->node].pieces.v[at->slot];
}

/* Writes the node of each of the job's fragments to `nodes`, which has one entry for each. */
void plan_nodes(const struct plan *p, uint32_t job, int32_t *nodes);

/* Folds an event's placement into the plan; with job_apply(), this is recovery. */
void plan_apply(struct plan *p, const struct event *event);

/* Follows a node that goes down or comes up: its resources are removed from, or added to, the
 * free ones. The node must hold no piece. */
void plan_node_up(struct plan *p, uint32_t node, bool up);

/* Follows a cluster that counts more dimensions than when the plan was created (cluster_count),
 * outside a transaction. */
void plan_widen(struct plan *p);
/* Follows a node whose total resources have changed, outside a transaction. The node must hold
 * no reserved piece. */
void plan_resize_node(struct plan *p, uint32_t node);
/* Follows an amount of the cluster that is new or has changed, outside a transaction. The caller
 * takes out planned jobs that no longer have room. */
void plan_set_amount(struct plan *p, uint32_t amount);
/* Returns true if the amounts that the job takes are free over [start, end).
 * plan_amounts_earliest() returns the earliest instant >= from at which they are free for
 * `length` seconds. */
bool plan_amounts_fit(const struct plan *p, uint32_t job, int64_t start, int64_t end);
int64_t plan_amounts_earliest(const struct plan *p, uint32_t job, int64_t from, int64_t length);
/* Returns the units of an amount that are free throughout [start, end). */
int64_t plan_amount_free(const struct plan *p, uint32_t amount, int64_t start, int64_t end);
/* Returns the same for a job, less the units kept for others. *ret (unless NULL) is the keeper
 * that withholds the most, or NULL. */
int64_t plan_amount_open(const struct plan *p, uint32_t job, uint32_t amount, int64_t start, int64_t end,
			 const struct kept_amount **ret);

/* Asserts the invariants by computing everything again from the pieces. Slow: for tests. */
void plan_check(const struct plan *p);
/* Returns true if two plans hold the same pieces and the same timelines. Slow: for tests. */
bool plan_equal(const struct plan *a, const struct plan *b);
struct plan *plan_clone(const struct plan *p);

#endif
