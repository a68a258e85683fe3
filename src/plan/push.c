/*
 * push.c - making room on a node: fragments that have not started are pushed to other nodes, and
 * only then are jobs removed. This is what Shunt is named after.
 *
 *	node 1 |AABBB...|            node 1 |AADDDDDD|
 *	node 2 |CCCCC...|  D (6) ->  node 2 |CCCCCBBB|	B is pushed to node 2, D lands on node 1
 *
 * Everything happens inside the insertion's transaction; each node tried has a mark of its own, so
 * a failure leaves no trace. All fragments of a job with whole nodes have to leave a node together,
 * for an empty one. A job that holds a machine of several nodes is never pushed, and nothing is
 * pushed for it. A chain of pushes never visits a node twice and is at most `depth` long, and all
 * chains of an insertion together try at most PUSH_WORK nodes.
 */
#include <stdlib.h>

#include "plan/booking.h"
#include "plan/fence.h"
#include "plan/insert_internal.h"

/* A fragment that could not be pushed during this attempt on its node. */
struct stuck {
	uint32_t job, frag;
};
typedef VEC(struct stuck) stuck_vec;

static bool is_stuck(const stuck_vec *v, const struct piece *x)
{
	for (size_t i = 0; v && i < v->n; i++)
		if (v->v[i].job == x->job && v->v[i].frag == x->frag)
			return true;
	return false;
}

static bool overlaps(const struct piece *x, const struct goal *g)
{
	return (x->live || x->start < g->end) && x->end > g->start;
}

/* Returns the CPU-seconds of the goal's interval that a piece on a node holds. */
static double contribution(const struct plan *p, int32_t node, const struct piece *x, const struct goal *g)
{
	const struct res *held = x->whole ? &p->total[node] : &p->cluster->shapes.v[x->shape].need;
	int64_t from = x->live || x->start < g->start ? g->start : x->start;
	int64_t until = x->end < g->end ? x->end : g->end;

	return (double)held->v[RES_CPU] * (double)(until - from);
}

static bool pushable(const struct piece *x, int depth)
{
	return depth > 0 && !x->running && !x->fixed;
}

static bool machine_shared(const struct plan *p, int32_t node)
{
	return p->cluster->nodes.v[node].peer != node;
}

/* Returns true if a piece can be pushed from its node; with whole nodes, if all pieces of its
 * job there can. */
static bool can_push(const struct plan *p, const struct piece *x, int32_t node, int depth, const stuck_vec *stuck)
{
	const piece_vec *v = &p->node[node].pieces;

	if (!pushable(x, depth) || is_stuck(stuck, x) || (x->whole == WHOLE_HOST && machine_shared(p, node)))
		return false;
	for (size_t i = 0; x->whole && i < v->n; i++)
		if (v->v[i].job == x->job && (!pushable(&v->v[i], depth) || is_stuck(stuck, &v->v[i])))
			return false;
	return true;
}

/* Returns the enum removable bit of a piece's job if this insertion may remove the job, else 0. */
static unsigned removable_by(const struct insertion *in, const struct piece *x)
{
	unsigned bit;

	if (!in->m->may_remove || x->job == in->job)
		return 0;
	if (plan_hold(in->p, x->job)->placed < plan_hold(in->p, x->job)->nfrags)
		return 0; /* another fragment of the job is being pushed at this moment and would be left alone */
	bit = plan_removable(in->p, x->job) & in->m->may_remove;
	if (bit == REMOVE_STARVING && in->m->only_younger && (x->job < in->job || x->live))
		return 0;
	return bit;
}

/* Reserved: 1 starving, 2 QoS, 4 emergency. Running: 8, 16, 32, 64 for common to emergency. See
 * docs/scheduling.md. */
#define CATEGORY_RUNNING 8
static unsigned category(unsigned bit)
{
	return bit <= REMOVE_CRITICAL ? (bit ? 1 : 0) : bit / 2;
}

struct viability {
	bool viable;
	unsigned category;
	double shortage; /* CPU-seconds to free */
};

/* Returns false if running jobs leave too few CPUs on the node at this instant, wherever the
 * others are pushed. */
static bool could_clear_now(const struct plan *p, int32_t node, const struct res *need)
{
	const struct plan_node *n = &p->node[node];
	int64_t cpus = p->free_now[node];

	for (size_t i = 0; i < n->pieces.n && cpus < need->v[RES_CPU]; i++) {
		const struct piece *x = &n->pieces.v[i];
		if (x->live && (!x->running || x->end <= p->now))
			cpus += (x->whole ? &p->total[node] : &p->cluster->shapes.v[x->shape].need)->v[RES_CPU];
	}
	return cpus >= need->v[RES_CPU];
}

/* Returns what a goal takes of a node: its need, or everything. */
static const struct res *goal_takes(const struct insertion *in, const struct goal *g, int32_t node)
{
	return g->whole ? &in->p->total[node] : &in->p->cluster->shapes.v[g->shape].need;
}

static int goal_depth(const struct plan *p, const struct goal *g, int32_t node, int depth)
{
	return g->whole == WHOLE_HOST && machine_shared(p, node) ? 0 : depth;
}

/* Returns true if piece i of node `at` is the first piece of its job that keeps others from
 * `node`, which is `at` or on the same machine. */
static bool whole_counts(const struct plan *p, int32_t node, int32_t at, size_t i)
{
	uint32_t job = p->node[at].pieces.v[i].job;

	for (int32_t n = node;; n = p->cluster->nodes.v[n].peer)
		for (size_t k = 0; k < p->node[n].pieces.n; k++)
			if (p->node[n].pieces.v[k].job == job)
				return n == at && k == i;
}

/* Gives a node's timeline back what a piece holds of it. */
static void line_without(const struct plan *p, struct timeline *line, int32_t node, const struct piece *x)
{
	int64_t start = x->live ? TIME_BEGIN : x->start, from, until;

	while (plan_unbooked_span(&p->node[node], &start, x->end, &from, &until))
		timeline_change(line, from, until, x->whole ? &p->total[node] : &p->cluster->shapes.v[x->shape].need,
				1);
}

/* Returns the node's timeline without the pieces in the goal's interval that can be removed, or
 * pushed at most `depth` deep; borrowed. Adds their categories to *category_ and sets *any if
 * there are any. */
static const struct timeline *line_cleared(const struct insertion *in, const struct goal *g, int32_t node, int depth,
					   const stuck_vec *stuck, unsigned *category_, bool *any)
{
	const struct plan *p = in->p;
	struct timeline *t = &in->p->scratch;
	int32_t at = node;

	timeline_copy(t, &p->node[node].line);
	do { /* also the machine's other nodes, for jobs that hold the whole machine */
		const piece_vec *v = &p->node[at].pieces;
		for (size_t i = 0; i < v->n; i++) {
			const struct piece *x = &v->v[i];
			unsigned bit;
			if (!overlaps(x, g) || (at != node && x->whole != WHOLE_HOST))
				continue;
			bit = removable_by(in, x);
			if (!bit && !can_push(p, x, at, depth, stuck))
				continue;
			*category_ |= category(bit);
			*any = true;
			if (!x->whole || whole_counts(p, node, at, i))
				line_without(p, t, node, x);
		}
		at = p->machines ? p->cluster->nodes.v[at].peer : node;
	} while (at != node);
	return t;
}

/* Determines whether the goal would fit on the node if all pieces that can be pushed or removed
 * were gone. */
static struct viability node_viability(const struct insertion *in, const struct goal *g, int32_t node, int depth,
				       const stuck_vec *stuck)
{
	const struct plan *p = in->p;
	const struct plan_node *n = &p->node[node];
	const struct res *need = goal_takes(in, g, node);
	struct viability v = {0};
	bool any = false;
	int32_t at = node;
	struct res rest;

	depth = goal_depth(p, g, node, depth);
	if ((!n->loose || depth <= 0) && !in->m->may_remove)
		return v;
	if (!goal_allowed(in, g, node))
		return v;
	if (p->parts && plan_rest(p, cluster_job(p->cluster, g->job), (uint32_t)node, g->start, g->end, &rest, NULL))
		return v; /* nothing is pushed to enlarge that rest */
	if (g->whole && (plan_whole_held(p, g->whole, g->job, g->frag, node) ||
			 !res_covers(need, &p->cluster->shapes.v[g->shape].need)))
		return v; /* no other job is in the way */
	if (!in->m->may_remove && g->start <= p->now && !could_clear_now(p, node, need))
		return v;
	do {
		const struct timeline *t = line_cleared(in, g, at, depth, stuck, &v.category, &any);
		if (p->cluster->nodes.v[at].up && !timeline_fits(t, g->start, g->end, goal_takes(in, g, at)))
			return v;
		at = plan_next_whole(p, g->whole, node, at);
	} while (at != node);
	v.viable = any;
	if (!v.viable)
		return v;

	/* Sum up the missing CPUs, instant by instant. */
	struct walk w = timeline_walk(&n->line, g->start);
	for (int64_t when = g->start; when < g->end;) {
		int64_t missing = need->v[RES_CPU] - w.step[1 + RES_CPU];
		int64_t until = walk_next(&w) && w.step[0] < g->end ? w.step[0] : g->end;
		if (missing > 0)
			v.shortage += (double)missing * (double)(until - when);
		when = until;
	}
	return v;
}

const struct timeline *node_cleared(const struct insertion *in, const struct goal *g, int32_t node)
{
	unsigned categories = 0;
	bool any;

	return line_cleared(in, g, node, 0, NULL, &categories, &any);
}

/* Returns the node that a piece can be pushed to without further pushes; NODE_ANY: none. `from`
 * is at the top of the chain. */
static int32_t push_target(struct insertion *in, const struct goal *g, int32_t from)
{
	double area;
	int32_t node;

	const struct job *job = cluster_job(in->p->cluster, g->job);
	/* the result then applies to all fragments of that shape */
	bool alike = !g->apart && !g->whole && !g->on && job->keys == KEYS_NONE && !job->bound;

	for (int i = in->dead; i < in->ndead && alike; i++) {
		const struct dead_end *d = &in->p->dead[i];
		if (d->shape == g->shape && d->start == g->start && d->end == g->end)
			return d->node != from && !node_in_chain(in, d->node) && node_measure(in, g, d->node, &area)
				       ? d->node
				       : NODE_ANY;
	}
	node = goal_best_fit(in, g);
	if (node == NODE_ANY && in->nchain == 1 && in->ndead < DEAD_ENDS && alike) {
		if (!in->p->dead)
			in->p->dead = mem_alloc(DEAD_ENDS * sizeof *in->p->dead);
		in->p->dead[in->ndead++] = (struct dead_end){g->shape, from, g->start, g->end};
	}
	return node;
}

/* Moves one piece away from the node at the top of the chain. */
static bool push_piece(struct insertion *in, struct piece x, int32_t from, int depth)
{
	struct plan *p = in->p;
	const struct job *job = cluster_job(p->cluster, x.job);
	struct goal g = {.job = x.job,
			 .frag = x.frag,
			 .shape = x.shape,
			 .start = x.start,
			 .end = x.end,
			 .apart = cluster_job_request(p->cluster, job)->apart,
			 .whole = x.whole,
			 .on = cluster_job_nodes(p->cluster, job),
			 .partition = p->cluster->nodes.v[from].partition};
	plan_mark mark = plan_begin(p);
	int32_t node;

	plan_take(p, x.job, x.frag);
	node = push_target(in, &g, from);
	if (node != NODE_ANY) {
		goal_put(in, &g, node);
	} else if (depth <= 1 || !goal_make_room(in, &g, depth - 1)) {
		plan_rollback(p, mark);
		return false;
	}
	p->moves++;
	plan_commit(p, mark);
	return true;
}

/* Returns the piece to push next: the one that holds most of the interval; ties go to the latest
 * submitted. */
static const struct piece *choose_push(const struct insertion *in, const struct goal *g, int32_t node, int depth,
				       const stuck_vec *stuck)
{
	const piece_vec *v = &in->p->node[node].pieces;
	const struct piece *best = NULL;
	double most = 0;

	for (size_t i = 0; i < v->n; i++) {
		const struct piece *x = &v->v[i];
		double c;
		if (!overlaps(x, g) || !can_push(in->p, x, node, depth, stuck))
			continue;
		c = contribution(in->p, node, x, g);
		if (!best || c > most ||
		    (c == most && (x->job > best->job || (x->job == best->job && x->frag > best->frag)))) {
			best = x;
			most = c;
		}
	}
	return best;
}

/* A job that could be removed from a node. */
struct removal {
	uint32_t job;
	unsigned bit;	 /* enum removable */
	int64_t unsaved; /* running jobs: instant since which work is lost; else 0 */
	double frees;	 /* CPU-seconds of the goal's interval */
};

/* Orders removals: least important kind first, then the job that loses least, then the one that
 * frees most here, then the latest submitted. */
static bool removal_before(const struct removal *a, const struct removal *b)
{
	if (a->bit != b->bit)
		return a->bit < b->bit;
	if (a->unsaved != b->unsaved)
		return a->unsaved > b->unsaved;
	return a->frees != b->frees ? a->frees > b->frees : a->job > b->job;
}

static struct removal removal_of(const struct insertion *in, const struct goal *g, int32_t node, const struct piece *x,
				 unsigned bit)
{
	const piece_vec *v = &in->p->node[node].pieces;
	struct removal r = {.job = x->job,
			    .bit = bit,
			    .unsaved = x->running ? job_unsaved_since(cluster_job(in->p->cluster, x->job)) : 0};

	for (size_t k = 0; k < v->n; k++)
		if (v->v[k].job == x->job && overlaps(&v->v[k], g))
			r.frees += contribution(in->p, node, &v->v[k], g);
	return r;
}

/* Returns the job to remove next. */
static uint32_t choose_removal(const struct insertion *in, const struct goal *g, int32_t node)
{
	struct removal best = {.job = JOB_NONE};
	int32_t at = node;

	do {
		const piece_vec *v = &in->p->node[at].pieces;
		for (size_t i = 0; i < v->n; i++) {
			unsigned bit = removable_by(in, &v->v[i]);
			if (!bit || !overlaps(&v->v[i], g) ||
			    (at != node && g->whole != WHOLE_HOST && v->v[i].whole != WHOLE_HOST))
				continue;
			struct removal r = removal_of(in, g, at, &v->v[i], bit);
			if (best.job == JOB_NONE || removal_before(&r, &best))
				best = r;
		}
		at = in->p->machines || g->whole == WHOLE_HOST ? in->p->cluster->nodes.v[at].peer : node;
	} while (at != node);
	return best.job;
}

static int removal_cmp(const void *a, const void *b)
{
	return removal_before(a, b) ? -1 : removal_before(b, a) ? 1 : 0;
}

/* Estimates the seconds of work lost if running jobs have to leave a node that lacks `shortage`
 * CPU-seconds: they leave in removal order, after everything else that can leave. */
static double node_loss(const struct insertion *in, const struct goal *g, int32_t node, int depth, double shortage)
{
	const piece_vec *v = &in->p->node[node].pieces;
	VEC(struct removal) removals = {0};
	double loss = 0;

	for (size_t i = 0; i < v->n; i++) {
		const struct piece *x = &v->v[i];
		unsigned bit = removable_by(in, x);
		bool first = true;
		if (!overlaps(x, g))
			continue;
		if (!x->running && (bit || can_push(in->p, x, node, depth, NULL)))
			shortage -= contribution(in->p, node, x, g);
		for (size_t k = 0; k < removals.n && first; k++)
			first = removals.v[k].job != x->job;
		if (x->running && bit && first)
			vec_push(&removals, removal_of(in, g, node, x, bit));
	}
	if (removals.n > 1)
		qsort(removals.v, removals.n, sizeof *removals.v, removal_cmp);
	for (size_t i = 0; i < removals.n && shortage > 0; i++) {
		shortage -= removals.v[i].frees;
		loss += (double)(g->start - removals.v[i].unsaved);
	}
	vec_free(&removals);
	return loss;
}

bool piece_removable(const struct insertion *in, const struct piece *x)
{
	return removable_by(in, x) != 0;
}

void remove_job(struct plan *p, uint32_t job, int64_t needed)
{
	if (plan_piece(p, job, 0)->running && needed > p->now)
		plan_cut(p, job, needed);
	else
		plan_take_job(p, job);
}

bool node_make_room(struct insertion *in, const struct goal *g, int32_t node, int depth)
{
	struct plan *p = in->p;
	stuck_vec stuck = {0};
	int dead = in->dead, ndead = in->ndead;
	uint64_t moves = p->moves;
	bool fits = false;

	if (in->work-- <= 0 || in->nchain > PUSH_DEPTH_MAX)
		return false;

	plan_mark mark = plan_begin(p);

	depth = goal_depth(p, g, node, depth);
	in->chain[in->nchain++] = node;
	while (node_viability(in, g, node, depth, &stuck).viable) {
		const struct piece *x = choose_push(in, g, node, depth, &stuck);
		p->work += p->node[node].pieces.n; /* examining a piece costs about as much as a node */
		if (x) {
			struct stuck s = {x->job, x->frag};
			if (!push_piece(in, *x, node, depth)) {
				vec_push(&stuck, s);
				continue;
			}
		} else {
			remove_job(p, choose_removal(in, g, node), g->start);
		}
		fits = goal_fits(in, g, node);
		if (fits)
			break;
	}
	in->nchain--;
	vec_free(&stuck);
	if (!fits) {
		plan_rollback(p, mark);
		if (in->p->moves != moves) { /* resources that the undone pushes had filled are free again */
			in->dead = dead;
			in->ndead = ndead;
		}
		return false;
	}
	/* Pushed pieces left room behind, so dead ends no longer hold. Within a chain the push may
	 * be undone: then the earlier ones hold again. */
	in->ndead = in->nchain ? in->ndead : 0;
	in->dead = in->ndead;
	goal_put(in, g, node);
	plan_commit(p, mark);
	return true;
}

struct option {
	unsigned category;
	double loss; /* seconds of work lost */
	double shortage;
	int32_t node;
};

static int option_cmp(const void *a, const void *b)
{
	const struct option *x = a, *y = b;

	if (x->category != y->category)
		return x->category < y->category ? -1 : 1;
	if (x->loss != y->loss)
		return x->loss < y->loss ? -1 : 1;
	if (x->shortage != y->shortage)
		return x->shortage < y->shortage ? -1 : 1;
	return x->node - y->node;
}

bool goal_make_room(struct insertion *in, const struct goal *g, int depth)
{
	VEC(struct option) options = {0};
	bool done = false;

	in->p->work += 4 * in->p->nnodes; /* accounts for the pieces on each node */
	if ((depth <= 0 || !in->p->loose) && !in->m->may_remove)
		return false;
	for (int32_t n = 0; n < (int32_t)in->p->nnodes; n++) {
		if (node_in_chain(in, n))
			continue;
		struct viability v = node_viability(in, g, n, depth, NULL);
		if (!v.viable)
			continue;
		double loss = v.category >= CATEGORY_RUNNING ? node_loss(in, g, n, depth, v.shortage) : 0;
		vec_push(&options, (struct option){v.category, loss, v.shortage, n});
	}
	if (options.n > 1)
		qsort(options.v, options.n, sizeof *options.v, option_cmp);
	for (size_t i = 0; i < options.n && !done && in->work > 0; i++)
		done = node_make_room(in, g, options.v[i].node, depth);
	vec_free(&options);
	return done;
}
