/*
 * partition.c - the second allocator: gives a job one partition to itself.
 *
 * insert.c places jobs on nodes outside partitions. Here a job gets one of the partitions that it
 * may use (job.allowed), empty for as long as the job lasts, and its fragments are put on the nodes
 * of that partition in order. A node that is down or closed to new jobs is ignored: a job that fits
 * on the others may run. A partition is held through the ring of its nodes (core/partition.h), so
 * everything that applies to whole machines applies to it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "plan/fence.h"
#include "plan/insert_internal.h"
#include "plan/pack.h"

bool plan_in_partition(const struct plan *p, uint32_t id)
{
	const struct cluster *c = p->cluster;
	const struct job *job = cluster_job(c, id);

	if (c->partitions.n == 0 || job->allowed == NODES_ALL || cluster_job_request(c, job)->whole != WHOLE_HOST)
		return false;
	for (size_t i = 0; i < c->partitions.n; i++)
		if (plan_may_use(p, id, &c->partitions.v[i]))
			return true;
	return false;
}

/* A job may avoid some nodes of the partition, where it has failed. */
bool plan_may_use(const struct plan *p, uint32_t id, const struct partition *part)
{
	const struct nodeset *on = cluster_job_nodes(p->cluster, cluster_job(p->cluster, id));
	const struct nodeset *of = &p->cluster->nodesets.v[part->set];

	for (uint32_t i = (uint32_t)part->first / 64; on && i < of->nwords; i++)
		if (of->word[i] & (i < on->nwords ? on->word[i] : on->rest ? UINT64_MAX : 0))
			return true;
	return false;
}

/* Marks the usable nodes of the i-th partition (PARTITION_NONE: those outside partitions).
 * Returns true if there are any. */
static bool nodes_of(const struct cluster *c, size_t i, const bool *usable, bool *ret)
{
	bool any = false;

	for (size_t n = 0; n < c->nodes.n; n++) {
		ret[n] = c->nodes.v[n].partition == i && (!usable || usable[n]);
		any |= ret[n];
	}
	return any;
}

int pack_refuse_amounts(const struct cluster *c, const struct request *r, struct err *err)
{
	for (uint32_t i = 0; i < r->nportions; i++) {
		const struct portion *x = &r->portion[i];
		if (x->count > c->amounts.v[x->amount].total)
			return err_set(err, -EINVAL, "it requests %lld %s, but the site has %lld", (long long)x->count,
				       names_get(&c->amount_names, x->amount),
				       (long long)c->amounts.v[x->amount].total);
	}
	return 0;
}

enum fit pack_apart(const struct cluster *c, const struct request *r, bool parted, bool scatter, const bool *usable,
		    struct err *err)
{
	bool *here;
	size_t last = parted ? c->partitions.n : 0;
	enum fit fit = FIT_NO;

	if (pack_refuse_amounts(c, r, err) < 0)
		return FIT_NO;
	if (c->partitions.n == 0) {
		fit = pack_empty(c, r, scatter, usable);
		if (fit == FIT_NO)
			pack_refuse(c, r, scatter, usable, err);
		return fit;
	}
	err_set(err, -EINVAL, "no node of a partition that suits it is in service");
	here = mem_zalloc((c->nodes.n + 1) * sizeof *here);
	for (size_t i = parted; i <= last && fit == FIT_NO; i++) {
		if (parted && !nodes_of(c, i, usable, here))
			continue;
		if (!parted)
			nodes_of(c, PARTITION_NONE, usable, here);
		fit = pack_empty(c, r, scatter, here);
		if (fit == FIT_NO)
			pack_refuse(c, r, scatter, here, err);
	}
	free(here);
	return fit;
}

/* Returns true if no job holds any of its nodes over the goal's interval. */
static bool partition_free(const struct plan *p, const struct partition *part, const struct goal *g)
{
	int32_t n = part->first;

	do {
		if (p->node[n].up && !timeline_fits(&p->node[n].line, g->start, g->end, &p->total[n]))
			return false;
		n = p->cluster->nodes.v[n].peer;
	} while (n != part->first);
	return true;
}

/* Puts each fragment on the first node that has room for it next to the others. Returns false if
 * they do not all fit. */
static bool partition_fill(struct insertion *in, const struct partition *part, const struct request *r, struct goal g)
{
	const struct cluster *c = in->p->cluster;
	struct res *room = mem_zalloc(part->nodes * sizeof *room);
	int32_t *node = mem_alloc(part->nodes * sizeof *node);
	uint32_t k = 0, n = 0;
	bool fits = true;

	for (int32_t at = part->first; n < part->nodes; at = c->nodes.v[at].peer, n++) {
		node[n] = at;
		room[n] = in->p->total[at];
	}
	/* Equal fragments are adjacent: a node that had no room for one has none for the next. The
	 * largest fragments, which are last, go first. */
	for (uint32_t i = r->nfrags; i-- > 0 && fits;) {
		const struct frag *f = &r->frag[i];
		g.frag = i;
		if (i + 1 == r->nfrags || f->shape != g.shape || f->node != r->frag[i + 1].node)
			k = 0;
		g.shape = f->shape;
		while (k < n && (!res_covers(&room[k], &c->shapes.v[f->shape].need) ||
				 (f->node != NODE_ANY && f->node != node[k]) || !goal_allowed(in, &g, node[k])))
			k++;
		fits = k < n;
		if (fits) {
			res_sub(&room[k], &c->shapes.v[f->shape].need);
			goal_put(in, &g, node[k]);
		}
	}
	free(room);
	free(node);
	return fits;
}

/* Removes all jobs in the way. Returns false if one of them may not be removed. */
static bool partition_clear(struct insertion *in, const struct partition *part, const struct goal *g)
{
	struct plan *p = in->p;
	int32_t n = part->first;

	do {
		const piece_vec *v = &p->node[n].pieces;
		for (size_t i = 0; i < v->n;) {
			const struct piece *x = &v->v[i];
			if (x->end <= g->start || (!x->live && x->start >= g->end)) {
				i++;
				continue;
			}
			if (!piece_removable(in, x))
				return false;
			remove_job(p, x->job, g->start);
			i = 0; /* removal has changed the slots of the node's other pieces */
		}
		n = p->cluster->nodes.v[n].peer;
	} while (n != part->first);
	return true;
}

/* Tries one partition. The plan changes only on success. */
static bool partition_try(struct insertion *in, const struct partition *part, const struct request *r, struct goal g,
			  bool clear)
{
	plan_mark mark;
	bool done;

	g.partition = part->name + 1;
	if (!clear && !partition_free(in->p, part, &g))
		return false;
	mark = plan_begin(in->p);
	done = (!clear || (partition_clear(in, part, &g) && partition_free(in->p, part, &g))) &&
	       partition_fill(in, part, r, g);
	if (done)
		plan_commit(in->p, mark);
	else
		plan_rollback(in->p, mark);
	return done;
}

#define UNSAVED 1e12 /* exceeds any amount of lost work, in seconds */

/* Returns the cost of displacing the job that runs in a partition when the goal needs it: the
 * seconds of work lost, plus UNSAVED if the job cannot be saved by then. */
static double partition_cost(const struct insertion *in, const struct partition *part, const struct goal *g)
{
	const struct plan *p = in->p;
	double cost = 0;
	int32_t n = part->first;

	do {
		const piece_vec *v = &p->node[n].pieces;
		for (size_t i = 0; i < v->n; i++)
			if (v->v[i].running && v->v[i].end > g->start) {
				const struct job *job = cluster_job(p->cluster, v->v[i].job);
				double lost = (double)(g->start - job_unsaved_since(job));
				lost += job->saving > g->start - p->now ? UNSAVED : 0;
				cost = lost > cost ? lost : cost;
			}
		n = p->cluster->nodes.v[n].peer;
	} while (n != part->first);
	return cost;
}

/* Clears the partition with the lowest cost among those that can be cleared. */
static bool partition_displace(struct insertion *in, const struct request *r, struct goal g)
{
	const struct cluster *c = in->p->cluster;
	double *cost = mem_alloc(c->partitions.n * sizeof *cost);
	bool done = false;

	for (size_t i = 0; i < c->partitions.n; i++)
		cost[i] = plan_may_use(in->p, g.job, &c->partitions.v[i]) ? partition_cost(in, &c->partitions.v[i], &g)
									  : HUGE_VAL;
	while (!done) {
		size_t best = 0;
		for (size_t i = 1; i < c->partitions.n; i++)
			if (cost[i] < cost[best])
				best = i;
		if (cost[best] == HUGE_VAL)
			break;
		done = partition_try(in, &c->partitions.v[best], r, g, true);
		cost[best] = HUGE_VAL;
	}
	free(cost);
	return done;
}

bool partition_insert(struct insertion *in, const struct request *r, struct goal g)
{
	const struct cluster *c = in->p->cluster;

	for (size_t i = 0; i < c->partitions.n; i++) {
		const struct partition *part = &c->partitions.v[i];
		if (!plan_may_use(in->p, g.job, part))
			continue;
		in->p->work += part->nodes;
		if (partition_try(in, part, r, g, false))
			return true;
	}
	return in->m->may_remove && partition_displace(in, r, g);
}

/* Returns plan_partition_free() for a job, which may not pass all fences; NULL: no job, ignoring
 * fences. */
static int64_t partition_free_for(const struct plan *p, const struct job *job, const struct partition *part,
				  int64_t from, int64_t length)
{
	bool fences = job && plan_has_fences(p, job);
	int32_t n = part->first;
	uint32_t agreed = 0;

	while (agreed < part->nodes && from != TIME_NEVER) {
		int64_t at = from;
		if (fences)
			at = plan_opens(p, job, (uint32_t)n, at, length);
		if (p->node[n].up && at != TIME_NEVER)
			at = timeline_earliest(&p->node[n].line, at, length, &p->total[n]);
		agreed = at == from ? agreed + 1 : 1;
		from = at;
		n = p->cluster->nodes.v[n].peer;
	}
	return from;
}

int64_t plan_partition_free(const struct plan *p, const struct partition *part, int64_t from, int64_t length)
{
	return partition_free_for(p, NULL, part, from, length);
}

int64_t plan_partition_until(const struct plan *p, const struct partition *part)
{
	int64_t until = TIME_NEVER;
	int32_t n = part->first;

	do {
		int64_t here = p->node[n].up ? timeline_until(&p->node[n].line, p->now, &p->total[n]) : TIME_NEVER;
		until = here < until ? here : until;
		n = p->cluster->nodes.v[n].peer;
	} while (n != part->first && until > p->now);
	return until;
}

int64_t plan_partition_earliest(const struct plan *p, uint32_t job, int64_t from, int64_t length,
				const struct partition **ret)
{
	const struct cluster *c = p->cluster;
	int64_t best = TIME_NEVER;

	for (size_t i = 0; i < c->partitions.n; i++) {
		int64_t at;
		if (!plan_may_use(p, job, &c->partitions.v[i]))
			continue;
		at = partition_free_for(p, cluster_job(c, job), &c->partitions.v[i], from, length);
		if (at >= best)
			continue;
		best = at;
		if (ret)
			*ret = &c->partitions.v[i];
	}
	return best;
}
