/*
 * insert.c - puts a job's fragments on nodes, all or none.
 *
 * A run of equal free fragments shares one scan of the nodes; offer.c chooses among them.
 *
 * Where fragments of several shapes do not all fit one after the other, pack.c searches for a
 * combination that fits.
 */
#include "plan/insert.h"

#include <stdlib.h>

#include "plan/fence.h"
#include "plan/insert_internal.h"
#include "plan/pack.h"

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

	if (p->nnodes != 1 || m->may_remove || r->nfrags != 1 || r->nportions || r->whole || !p->node[0].up ||
	    p->cluster->partitions.n || job->allowed != NODES_ALL || plan_has_fences(p, job) ||
	    (m->on && !nodeset_has(m->on, 0)))
		return false;

	uint32_t features = p->cluster->shapes.v[r->frag[0].shape].features;

	return features_cover(&p->cluster->features, p->node[0].features, features);
}

bool goal_admitted(const struct insertion *in, const struct goal *g, int32_t node)
{
	const struct cluster *c = in->p->cluster;
	const struct shape *s = &c->shapes.v[g->shape];

	if (c->nodes.v[node].partition != g->partition || (g->on && !nodeset_has(g->on, (uint32_t)node)) ||
	    (in->m->on && !nodeset_has(in->m->on, (uint32_t)node)))
		return false;
	if (in->p->edges.n && !plan_piece_passes(in->p, cluster_job(c, g->job), g->whole, node, g->start, g->end))
		return false;
	if (!in->m->scatter && !g->apart)
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

/* Returns true if only what is free now counts for the goal, in any case. */
static inline bool goal_is_now(const struct insertion *in, const struct goal *g)
{
	return !g->whole && in->live_only && g->start <= in->p->now;
}

/* Returns true if every node of a block has too few CPUs free at the goal's start: now, and until
 * something ends there. */
static inline bool block_is_full(const struct insertion *in, const struct goal *g, uint32_t block, int64_t cpus)
{
	return in->p->free_most[block] < cpus &&
	       (goal_is_now(in, g) || (!g->whole && g->start < plan_block_changes(in->p, block)));
}

/* Returns the first node from `n` on that may have room for the goal; skips full blocks. */
static inline int32_t node_from(const struct insertion *in, const struct goal *g, int32_t n)
{
	const struct plan *p = in->p;
	int64_t cpus = p->cluster->shapes.v[g->shape].need.v[RES_CPU];

	while (n % FREE_BLOCK == 0 && n < (int32_t)p->nnodes && block_is_full(in, g, (uint32_t)n / FREE_BLOCK, cpus))
		n += FREE_BLOCK;
	return n;
}

int64_t node_measure(const struct insertion *in, const struct goal *g, int32_t node, double *ret_area)
{
	const struct plan *p = in->p;
	const struct res *need = &p->cluster->shapes.v[g->shape].need;

	if (g->whole)
		return goal_allowed(in, g, node) ? whole_measure(in, g, node, ret_area) : 0;
	if (goal_is_now(in, g) && p->free_now[node] < need->v[RES_CPU])
		return 0; /* a quick no */
	if (!goal_allowed(in, g, node))
		return 0;

	int64_t copies = timeline_measure(&p->node[node].line, g->start, g->end, need, ret_area);
	int64_t rest =
		copies && p->parts ? plan_rest_copies(p, g->job, (uint32_t)node, g->start, g->end, need) : INT64_MAX;

	return copies < rest ? copies : rest;
}

bool goal_fits(const struct insertion *in, const struct goal *g, int32_t node)
{
	double area;

	if (g->whole)
		return whole_measure(in, g, node, &area) > 0;

	const struct res *need = &in->p->cluster->shapes.v[g->shape].need;

	return timeline_fits(&in->p->node[node].line, g->start, g->end, need) &&
	       plan_rest_copies(in->p, g->job, (uint32_t)node, g->start, g->end, need) > 0;
}

int32_t goal_best_fit(const struct insertion *in, const struct goal *g)
{
	bool plain = !in->p->cluster->topology && !in->p->cluster->habits && !offer_divides(in, g);
	bool any = plain && in->m->alloc == ALLOC_FIRST, by_area = plain && in->m->alloc == ALLOC_BEST;
	struct offer best = {.node = NODE_ANY};

	in->p->work += in->p->nnodes / FREE_BLOCK + 1;
	for (int32_t n = node_from(in, g, 0); n < (int32_t)in->p->nnodes; n = node_from(in, g, n + 1)) {
		double area;
		in->p->work++;
		if (node_in_chain(in, n) || !node_measure(in, g, n, &area))
			continue;
		if (any)
			return n;
		if (by_area && best.node != NODE_ANY && area >= best.area)
			/* same result as offer_before(), but cheaper: passes spend most of their
			 * time in this loop */
			continue;
		struct offer o = offer_make(in, g, n, area, 0);
		if (best.node == NODE_ANY || offer_before(&o, &best))
			best = o;
	}
	return best.node;
}

void goal_put(struct insertion *in, const struct goal *g, int32_t node)
{
	plan_put(in->p, g->job, g->frag, node, g->start, g->end);
}

/* Puts as many of `count` equal free fragments, from g.frag on, as fit without making room, and
 * writes their number to *ret_placed. Returns false without putting any if they do not all fit
 * and no other fragment may be moved or removed. */
static bool place_run(struct insertion *in, struct goal g, uint32_t count, uint32_t *ret_placed)
{
	bool apart = in->m->scatter || in->p->cluster->shapes.v[g.shape].exclusive;
	offer_vec offers = {0};
	uint32_t placed = 0;
	int64_t copies = 0;

	in->p->work += in->p->nnodes / FREE_BLOCK + 1;
	for (int32_t n = node_from(in, &g, 0); n < (int32_t)in->p->nnodes; n = node_from(in, &g, n + 1)) {
		double area;
		in->p->work++;
		int64_t here = node_measure(in, &g, n, &area);
		if (!here)
			continue;
		if (apart)
			here = 1;
		offers_add(&offers, in, &g, n, here, count, area);
		copies += here;
		if (in->m->alloc == ALLOC_FIRST && copies >= count && !in->p->cluster->topology &&
		    !in->p->cluster->habits && !offer_divides(in, &g))
			break;
	}
	bool pointless = copies < count && !in->m->push_depth && !in->m->may_remove;
	if (!pointless)
		offers_choose(&offers, in, &g, count);
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
	else if (!goal_fits(in, g, fixed))
		return node_make_room(in, g, fixed, depth);
	if (node == NODE_ANY)
		return goal_make_room(in, g, depth);
	goal_put(in, g, node);
	return true;
}

static bool frags_equal(const struct frag *a, const struct frag *b)
{
	return a->shape == b->shape && a->node == b->node;
}

/* run_length() counts the equal fragments from `first` on; run_before() returns the first
 * fragment of the run that ends before `end`. */
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

/* Returns true if a planned end has come that was not reported yet; the report follows at this
 * same instant. */
static bool end_reached(struct plan *p)
{
	return timeline_at(plan_sum(p), p->now)[0] != TIME_BEGIN;
}

/* Places fragment after fragment, each on its best node. A later fragment may find its nodes
 * taken. */
static bool insert_greedy(struct insertion *in, const struct request *r, struct goal g)
{
	/* Runs of equal free fragments, by ascending or descending CPUs; fixed fragments always
	 * come first. */
	for (uint32_t done = 0, n; done < r->nfrags; done += n) {
		uint32_t first = done;
		if (in->m->largest_first && done >= r->nfixed)
			first = run_before(r, r->nfixed + (r->nfrags - done));
		n = run_length(r, first);
		g.shape = in->last = r->frag[first].shape;
		g.frag = first;
		if (n > 1 && r->frag[first].node == NODE_ANY) {
			uint32_t placed;
			if (!place_run(in, g, n, &placed))
				return false;
			g.frag += placed;
		}
		for (; g.frag < first + n; g.frag++)
			if (!place_fragment(in, &g, r->frag[first].node))
				return false;
	}
	return true;
}

/* Returns true if the fragments at which the greedy insertion failed would fit without the job's
 * other fragments. Usually a quick no. */
static bool last_fits(const struct insertion *in, const struct request *r, struct goal g)
{
	bool alone = in->m->scatter || in->p->cluster->shapes.v[in->last].exclusive;
	int64_t missing = 0;
	double area;

	if (in->m->may_remove)
		return true;
	g.shape = in->last;
	for (uint32_t i = 0; i < r->nfrags; i++)
		missing += r->frag[i].shape == g.shape;
	for (int32_t n = node_from(in, &g, 0); n < (int32_t)in->p->nnodes && missing > 0;
	     n = node_from(in, &g, n + 1)) {
		int64_t copies = node_measure(in, &g, n, &area);
		missing -= alone && copies > 1 ? 1 : copies;
	}
	return missing <= 0;
}

/* Offers the search each node's free resources, assuming that all jobs this insertion may remove
 * are gone. */
static void pack_nodes(struct insertion *in, struct pack *k, struct goal g)
{
	struct plan *p = in->p;

	p->work += p->nnodes;
	for (int32_t n = 0; n < (int32_t)p->nnodes; n++) {
		const struct timeline *line = &p->node[n].line;
		uint64_t kinds = 0;
		struct res free, rest;
		if (g.whole) {
			if (!whole_is_free(in, &g, n))
				continue;
			free = p->total[n];
		} else {
			if (in->m->may_remove)
				line = node_cleared(in, &g, n);
			timeline_least(line, g.start, g.end, &free);
			if (plan_rest(p, cluster_job(p->cluster, g.job), (uint32_t)n, g.start, g.end, &rest, NULL))
				for (int d = 0; d < RES_MAX; d++)
					free.v[d] = rest.v[d] < free.v[d] ? rest.v[d] : free.v[d];
		}
		for (int i = 0; i < k->nkinds; i++) {
			g.shape = k->kind[i].shape;
			if (res_covers(&free, &k->kind[i].need) && goal_allowed(in, &g, n))
				kinds |= UINT64_C(1) << i;
		}
		if (kinds)
			pack_offer(k, n, &free, kinds);
	}
}

/* Places all fragments at once by searching for a combination that fits. Nothing is pushed, but
 * jobs that may be removed are. */
static bool insert_packed(struct insertion *in, const struct request *r, struct goal g)
{
	int32_t *nodes;
	bool done = false;
	struct pack k;

	pack_init(&k, in->p->cluster, r, in->m->scatter);
	k.failed = &in->p->packs;
	pack_nodes(in, &k, g);
	nodes = mem_alloc(r->nfrags * sizeof *nodes);
	if (pack_solve(&k, nodes) == FIT_YES) {
		done = true;
		in->work = POWER_WORK + (int)r->nfrags;
		for (g.frag = 0; g.frag < r->nfrags && done; g.frag++) {
			g.shape = r->frag[g.frag].shape;
			if (goal_fits(in, &g, nodes[g.frag]))
				goal_put(in, &g, nodes[g.frag]);
			else
				done = node_make_room(in, &g, nodes[g.frag], 0);
		}
	}
	pack_fini(&k);
	free(nodes);
	return done;
}

/* Returns true if equal fragments, or a single node, leave no choice that could have been wrong.
 * With whole nodes and removals, a push is such a choice: a job with whole nodes may take more
 * at its new place than at the old one, and a job that wants whole nodes loses an empty node to
 * the fragment pushed there, while possibly only another job could be removed. */
static bool greedy_is_exact(const struct plan *p, const struct manner *m, const struct request *r)
{
	if (m->may_remove && m->push_depth && (p->wholes || r->whole) && r->nfrags > 1)
		return false;
	return r->nfrags == 1 || r->uniform || p->nnodes == 1;
}

bool plan_insert(struct plan *p, const struct manner *m, uint32_t job, int64_t start, int64_t end)
{
	const struct job *owner = cluster_job(p->cluster, job);
	const struct request *r = cluster_job_request(p->cluster, owner);
	struct insertion in = {.p = p,
			       .m = m,
			       .job = job,
			       .work = m->may_remove ? POWER_WORK : PUSH_WORK,
			       .live_only = !end_reached(p),
			       .plain = !p->cluster->partitions.n && !p->edges.n && !m->on && !m->scatter};
	struct goal g = {.job = job,
			 .start = start,
			 .end = end,
			 .apart = r->apart,
			 .whole = r->whole,
			 .on = cluster_job_nodes(p->cluster, owner)};
	plan_mark mark;

	p->attempts++;
	hold_ready(p, job);
	if (owner->bound && !p->edges.n)
		return false;
	if (!m->may_remove && !timeline_fits(plan_sum(p), start, end, &r->total))
		return false;
	if (!plan_amounts_fit(p, job, start, end)) /* no job is removed for the sake of an amount */
		return false;

	if (plan_is_simple(p, m, job)) {
		plan_put(p, job, 0, 0, start, end); /* the sum is the timeline of the only node */
		return true;
	}
	if (plan_in_partition(p, job))
		return partition_insert(&in, r, g);
	mark = plan_begin(p);
	if (insert_greedy(&in, r, g)) {
		plan_commit(p, mark);
		return true;
	}
	plan_rollback(p, mark);
	if (greedy_is_exact(p, m, r) || !last_fits(&in, r, g))
		return false;
	mark = plan_begin(p);
	if (insert_packed(&in, r, g)) {
		plan_commit(p, mark);
		return true;
	}
	plan_rollback(p, mark);
	return false;
}

bool plan_fits_on(struct plan *p, const struct manner *m, uint32_t job, int32_t node, int64_t start, int64_t end)
{
	const struct job *owner = cluster_job(p->cluster, job);
	struct insertion in = {.p = p, .m = m, .job = job, .live_only = !end_reached(p)};
	struct goal g = {.job = job,
			 .shape = cluster_job_request(p->cluster, owner)->frag[0].shape,
			 .start = start,
			 .end = end,
			 .on = cluster_job_nodes(p->cluster, owner)};
	double area;

	hold_ready(p, job);
	return (!owner->bound || p->edges.n) && plan_amounts_fit(p, job, start, end) &&
	       node_measure(&in, &g, node, &area) > 0;
}
