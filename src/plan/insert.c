/*
 * insert.c - a job's fragments onto nodes, all or none.
 *
 * A run of equal free fragments shares one scan of the nodes: after one lands on the best node that node has even less free,
 * so it stays the best until it is full. Sorting the nodes once by free CPU-seconds and filling each in turn gives what a
 * scan per fragment would.
 */
#include "plan/insert.h"

#include <stdlib.h>

#include "plan/insert_internal.h"

unsigned plan_removable(const struct plan *p, uint32_t id)
{
	const struct job *job = cluster_job(p->cluster, id);

	if (job->state == STATE_RUNNING || job->state == STATE_NOW)
		return REMOVE_RUN_COMMON << job->kind;
	if (job->state != STATE_ALLOCATED)
		return 0;
	switch ((enum job_kind)job->kind) {
	case KIND_STARVING:
		return cluster_critical(p->cluster, job) ? REMOVE_CRITICAL : REMOVE_STARVING;
	case KIND_QOS:
		return REMOVE_QOS;
	case KIND_EMERGENCY:
		return REMOVE_EMERGENCY;
	default:
		return 0;
	}
}

bool plan_is_simple(const struct plan *p, const struct manner *m, uint32_t id)
{
	const struct job *job = cluster_job(p->cluster, id);
	const struct request *r = cluster_job_request(p->cluster, job);

	if (p->nnodes != 1 || m->may_remove || r->nfrags != 1 || !p->node[0].up || job->allowed != NODES_ALL)
		return false;

	uint64_t features = p->cluster->shapes.v[r->frag[0].shape].features;

	return (p->node[0].features & features) == features;
}

bool goal_allowed(const struct insertion *in, const struct goal *g, int32_t node)
{
	const struct cluster *c = in->p->cluster;
	const struct shape *s = &c->shapes.v[g->shape];
	const struct plan_node *n = &in->p->node[node];

	if (!n->up || (n->features & s->features) != s->features || (g->on && !nodeset_has(g->on, (uint32_t)node)))
		return false;
	if (!in->m->scatter && !g->apart)
		return true;

	const piece_vec *v = &n->pieces;

	for (size_t i = 0; i < v->n; i++)
		if (v->v[i].job == g->job && v->v[i].frag != g->frag &&
		    (in->m->scatter || s->exclusive || c->shapes.v[v->v[i].shape].exclusive))
			return false;
	return true;
}

bool node_in_chain(const struct insertion *in, int32_t node)
{
	for (int i = 0; i < in->nchain; i++)
		if (in->chain[i] == node)
			return true;
	return false;
}

int64_t node_measure(const struct insertion *in, const struct goal *g, int32_t node, double *ret_area)
{
	const struct plan *p = in->p;
	const struct res *need = &p->cluster->shapes.v[g->shape].need;

	if (in->live_only && g->start <= p->now && p->free_now[node] < need->v[RES_CPU])
		return 0; /* a quick no */
	if (!goal_allowed(in, g, node))
		return 0;
	return timeline_measure(&p->node[node].line, g->start, g->end, need, ret_area);
}

int32_t goal_best_fit(const struct insertion *in, const struct goal *g)
{
	int32_t best = NODE_ANY;
	double least = 0;

	for (int32_t n = 0; n < (int32_t)in->p->nnodes; n++) {
		double area;
		if (node_in_chain(in, n) || !node_measure(in, g, n, &area))
			continue;
		if (in->m->alloc == ALLOC_FIRST)
			return n;
		if (best == NODE_ANY || area < least) {
			best = n;
			least = area;
		}
	}
	return best;
}

void goal_put(struct insertion *in, const struct goal *g, int32_t node)
{
	plan_put(in->p, g->job, g->frag, node, g->start, g->end);
}

struct offer {
	double area;
	int32_t node;
	int64_t copies;
};

static int offer_cmp(const void *a, const void *b)
{
	const struct offer *x = a, *y = b;

	if (x->area != y->area)
		return x->area < y->area ? -1 : 1;
	return x->node - y->node;
}

/* Puts as many of `count` equal free fragments, from g.frag on, as fit without making room; how many that were goes to
 * *ret_placed. False, and none is put: they do not all fit, and nobody may be moved for them. */
static bool place_run(struct insertion *in, struct goal g, uint32_t count, uint32_t *ret_placed)
{
	bool apart = in->m->scatter || in->p->cluster->shapes.v[g.shape].exclusive;
	VEC(struct offer) offers = {0};
	uint32_t placed = 0;
	int64_t copies = 0;

	for (int32_t n = 0; n < (int32_t)in->p->nnodes; n++) {
		struct offer o = {.node = n};
		o.copies = node_measure(in, &g, n, &o.area);
		if (!o.copies)
			continue;
		if (apart)
			o.copies = 1;
		vec_push(&offers, o);
		copies += o.copies;
		if (in->m->alloc == ALLOC_FIRST && copies >= count)
			break;
	}
	bool pointless = copies < count && !in->m->push_depth && !in->m->may_remove;
	if (!pointless && in->m->alloc == ALLOC_BEST && offers.n > 1)
		qsort(offers.v, offers.n, sizeof *offers.v, offer_cmp);
	for (size_t i = 0; i < offers.n && placed < count && !pointless; i++)
		for (int64_t k = 0; k < offers.v[i].copies && placed < count; k++, g.frag++, placed++)
			goal_put(in, &g, offers.v[i].node);
	vec_free(&offers);
	*ret_placed = placed;
	return !pointless;
}

static bool place_fragment(struct insertion *in, const struct goal *g, int32_t fixed)
{
	int depth = in->m->push_depth;
	int32_t node = fixed;

	if (fixed == NODE_ANY)
		node = goal_best_fit(in, g);
	else if (!goal_allowed(in, g, fixed))
		return false;
	else if (!timeline_fits(&in->p->node[fixed].line, g->start, g->end, &in->p->cluster->shapes.v[g->shape].need))
		return node_make_room(in, g, fixed, depth);
	if (node == NODE_ANY)
		return goal_make_room(in, g, depth);
	goal_put(in, g, node);
	return true;
}

/* Makes sure that there is a record of where the job's fragments are, so that others can ask. */
static void hold_ready(struct plan *p, uint32_t job)
{
	while (p->holds.n <= job)
		vec_push(&p->holds, (struct hold){0});
}

static bool frags_equal(const struct frag *a, const struct frag *b)
{
	return a->shape == b->shape && a->node == b->node;
}

/* How many fragments from `first` on are equal; and the first of the run that ends before `end`. */
static uint32_t run_length(const struct request *r, uint32_t first)
{
	uint32_t n = 1;

	while (first + n < r->nfrags && frags_equal(&r->frag[first], &r->frag[first + n]))
		n++;
	return n;
}

static uint32_t run_before(const struct request *r, uint32_t end)
{
	uint32_t first = end - 1;

	while (first > r->nfixed && frags_equal(&r->frag[first - 1], &r->frag[end - 1]))
		first--;
	return first;
}

/* Whether an end was reached of which nobody has told yet: it comes at this same instant. */
static bool end_reached(struct plan *p)
{
	const struct timeline *sum = plan_sum(p);

	return sum->n > 1 && timeline_step(sum, 1)[0] <= p->now;
}

bool plan_insert(struct plan *p, const struct manner *m, uint32_t job, int64_t start, int64_t end)
{
	const struct job *owner = cluster_job(p->cluster, job);
	const struct request *r = cluster_job_request(p->cluster, owner);
	struct insertion in = {.p = p,
			       .m = m,
			       .job = job,
			       .work = m->may_remove ? POWER_WORK : PUSH_WORK,
			       .live_only = !end_reached(p)};
	struct goal g = {
		.job = job, .start = start, .end = end, .apart = r->apart, .on = cluster_job_nodes(p->cluster, owner)};

	p->attempts++;
	hold_ready(p, job);
	if (!m->may_remove && !timeline_fits(plan_sum(p), start, end, &r->total))
		return false;

	if (plan_is_simple(p, m, job)) {
		plan_put(p, job, 0, 0, start, end); /* the sum is the node's */
		return true;
	}

	plan_mark mark = plan_begin(p);

	/* Runs of equal free fragments, those of fewest CPUs first or last; fixed fragments are before them in any case. */
	for (uint32_t done = 0, n; done < r->nfrags; done += n) {
		uint32_t first = done;
		if (m->largest_first && done >= r->nfixed)
			first = run_before(r, r->nfixed + (r->nfrags - done));
		n = run_length(r, first);
		g.shape = r->frag[first].shape;
		g.frag = first;
		if (n > 1 && r->frag[first].node == NODE_ANY) {
			uint32_t placed;
			if (!place_run(&in, g, n, &placed)) {
				plan_rollback(p, mark);
				return false;
			}
			g.frag += placed;
		}
		for (; g.frag < first + n; g.frag++)
			if (!place_fragment(&in, &g, r->frag[first].node)) {
				plan_rollback(p, mark);
				return false;
			}
	}
	plan_commit(p, mark);
	return true;
}
