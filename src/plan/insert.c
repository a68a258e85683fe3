/*
 * insert.c - a job's fragments onto nodes, all or none.
 *
 * Equal free fragments share one scan of the nodes: after one lands on the best node that node has even less free,
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

bool goal_allowed(const struct insertion *in, const struct goal *g, int32_t node)
{
	const struct cluster *c = in->p->cluster;
	const struct shape *s = &c->shapes.v[g->shape];
	const struct node *n = &c->nodes.v[node];
	const struct hold *h = &in->p->holds.v[g->job];

	if (!n->up || (n->features & s->features) != s->features)
		return false;
	if (h->placed == 0)
		return true;

	const piece_vec *v = &in->p->node[node].pieces;

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

/* Copies of the goal that the node could take as it is, and the free CPU-seconds there. */
static int64_t node_measure(const struct insertion *in, const struct goal *g, int32_t node, double *ret_area)
{
	const struct plan *p = in->p;
	const struct res *need = &p->cluster->shapes.v[g->shape].need;

	if (g->start <= p->now && p->free_now[node] < need->v[RES_CPU])
		return 0;
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

/* Puts as many fragments of a uniform request as fit without making room; how many that were. */
static uint32_t place_uniform(struct insertion *in, struct goal g, uint32_t nfrags)
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
		if (in->m->alloc == ALLOC_FIRST && copies >= nfrags)
			break;
	}
	bool pointless = copies < nfrags && !in->m->push_depth && !in->m->may_remove;
	if (!pointless && in->m->alloc == ALLOC_BEST && offers.n > 1)
		qsort(offers.v, offers.n, sizeof *offers.v, offer_cmp);
	for (size_t i = 0; i < offers.n && placed < nfrags && !pointless; i++)
		for (int64_t k = 0; k < offers.v[i].copies && placed < nfrags; k++) {
			g.frag = placed++;
			goal_put(in, &g, offers.v[i].node);
		}
	vec_free(&offers);
	return placed;
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

bool plan_insert(struct plan *p, const struct manner *m, uint32_t job, int64_t start, int64_t end)
{
	const struct request *r = cluster_job_request(p->cluster, cluster_job(p->cluster, job));
	struct insertion in = {.p = p, .m = m, .job = job, .work = PUSH_WORK};
	struct goal g = {.job = job, .start = start, .end = end};
	uint32_t done = 0;

	p->attempts++;
	hold_ready(p, job);
	if (!m->may_remove && !timeline_fits(plan_sum(p), start, end, &r->total))
		return false;

	if (p->nnodes == 1 && r->nfrags == 1 && !m->may_remove) {
		plan_put(p, job, 0, 0, start, end); /* the sum is the node's */
		return true;
	}

	plan_mark mark = plan_begin(p);

	if (r->uniform && r->nfrags > 1) {
		g.shape = r->frag[0].shape;
		done = place_uniform(&in, g, r->nfrags);
	}
	for (; done < r->nfrags; done++) {
		uint32_t f = done;
		if (m->largest_first && done >= r->nfixed)
			f = r->nfixed + (r->nfrags - 1 - done);
		g.frag = f;
		g.shape = r->frag[f].shape;
		if (!place_fragment(&in, &g, r->frag[f].node)) {
			plan_rollback(p, mark);
			return false;
		}
	}
	plan_commit(p, mark);
	return true;
}
