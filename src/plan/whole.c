/*
 * whole.c - jobs that have their nodes, or their machines, to themselves: where they fit.
 *
 * Such a job takes all of a node, but its own fragments share it. So a node either already belongs
 * to the job, and offers what its fragments leave there, or must be empty for as long as the job
 * lasts, and offers its total.
 */
#include <stdlib.h>

#include "plan/insert_internal.h"

/* Writes what the job's fragments on a node, except the goal, leave of it. */
static void own_room(const struct plan *p, const struct goal *g, int32_t node, struct res *ret)
{
	const piece_vec *v = &p->node[node].pieces;

	*ret = p->total[node];
	for (size_t i = 0; i < v->n; i++)
		if (v->v[i].job == g->job && v->v[i].frag != g->frag)
			res_sub(ret, &p->cluster->shapes.v[v->v[i].shape].need);
}

static int64_t copies_in(const struct res *room, const struct res *need)
{
	int64_t copies = INT64_MAX;

	for (int d = 0; d < RES_MAX; d++)
		if (need->v[d] && room->v[d] / need->v[d] < copies)
			copies = room->v[d] / need->v[d];
	return copies;
}

/* Returns true if no job holds the node, or its machine, over the goal's interval, and writes
 * the CPUs that the goal would take. With `clear`, jobs that may be removed do not count. */
static bool is_free(const struct insertion *in, const struct goal *g, int32_t node, bool clear, int64_t *ret_cpus)
{
	const struct plan *p = in->p;
	int32_t n = node;

	*ret_cpus = 0;
	do {
		const struct timeline *line = clear ? node_cleared(in, g, n) : &p->node[n].line;
		if (p->cluster->nodes.v[n].up && !timeline_fits(line, g->start, g->end, &p->total[n]))
			return false;
		*ret_cpus += p->total[n].v[RES_CPU];
		n = plan_next_whole(p, g->whole, node, n);
	} while (n != node);
	return true;
}

bool whole_is_free(const struct insertion *in, const struct goal *g, int32_t node)
{
	int64_t cpus;

	return is_free(in, g, node, in->m->may_remove, &cpus);
}

int64_t whole_measure(const struct insertion *in, const struct goal *g, int32_t node, double *ret_area)
{
	const struct plan *p = in->p;
	struct res room;
	int64_t copies, cpus;

	own_room(p, g, node, &room);
	copies = copies_in(&room, &p->cluster->shapes.v[g->shape].need);
	if (copies <= 0)
		return 0;
	cpus = room.v[RES_CPU];
	if (!plan_whole_held(p, g->whole, g->job, g->frag, node) && !is_free(in, g, node, false, &cpus))
		return 0;
	*ret_area = (double)cpus * (double)(g->end - g->start);
	return copies;
}

/* Returns true if the node is marked and no marked node of its machine precedes it. */
static bool is_first(const struct plan *p, enum wholeness whole, const bool *marked, int32_t node)
{
	int32_t n = node;

	do {
		if (marked[n] && n < node)
			return false;
		n = plan_next_whole(p, whole, node, n);
	} while (n != node);
	return marked[node];
}

static uint32_t count_marked(const struct plan *p, enum wholeness whole, const bool *marked)
{
	uint32_t count = 0;

	for (uint32_t n = 0; n < p->nnodes; n++)
		count += is_first(p, whole, marked, (int32_t)n);
	return count;
}

uint32_t plan_whole_free(struct plan *p, const struct nodeset *on, uint32_t id, int64_t start, int64_t end)
{
	const struct manner plain = {.on = on};
	const struct job *job = cluster_job(p->cluster, id);
	const struct request *r = cluster_job_request(p->cluster, job);
	struct insertion in = {.p = p, .m = &plain, .job = id};
	struct goal g = {.job = id,
			 .start = start,
			 .end = end,
			 .apart = r->apart,
			 .whole = r->whole,
			 .on = cluster_job_nodes(p->cluster, job)};
	bool *marked = mem_zalloc((p->nnodes + 1) * sizeof *marked);
	uint32_t count;

	for (uint32_t n = 0; n < p->nnodes; n++)
		for (g.frag = 0; g.frag < r->nfrags && !marked[n]; g.frag++) {
			double area;
			g.shape = r->frag[g.frag].shape;
			if (g.frag == 0 || g.shape != r->frag[g.frag - 1].shape)
				marked[n] = node_measure(&in, &g, (int32_t)n, &area) > 0;
		}
	count = count_marked(p, r->whole, marked);
	free(marked);
	return count;
}

uint32_t plan_whole_count(const struct plan *p, uint32_t job)
{
	bool *marked = mem_zalloc((p->nnodes + 1) * sizeof *marked);
	uint32_t count;

	for (uint32_t i = 0; i < plan_hold(p, job)->nfrags; i++)
		marked[plan_place(p, job, i)->node] = true;
	count = count_marked(p, plan_piece(p, job, 0)->whole, marked);
	free(marked);
	return count;
}

int64_t plan_cpus(const struct plan *p, uint32_t job)
{
	int64_t cpus = 0;

	if (!plan_piece(p, job, 0)->whole)
		return request_cpus(cluster_job_request(p->cluster, cluster_job(p->cluster, job)));

	bool *marked = mem_zalloc((p->nnodes + 1) * sizeof *marked);
	for (uint32_t i = 0; i < plan_hold(p, job)->nfrags; i++) {
		int32_t node = plan_place(p, job, i)->node;
		cpus += marked[node] ? 0 : p->cluster->nodes.v[node].total.v[RES_CPU];
		marked[node] = true;
	}
	free(marked);
	return cpus;
}
