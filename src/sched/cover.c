/*
 * cover.c - node allocation by the smallest cover: starts as many of the startable jobs as possible
 * on as few nodes as possible.
 *
 * The plan decides which job may run on which node, as for any job, so no reservation is delayed.
 * Capacities are those of this moment: jobs that would each end before a reservation may not do so
 * together. A job that cannot be put on the node chosen by the cover is placed in the ordinary way,
 * as are jobs of several parts.
 */
#include <stdlib.h>

#include "plan/cover.h"
#include "sched/sched_internal.h"

#define JOBS 64
#define STEPS 100000

struct choice {
	struct queued job[JOBS];
	int n;
	int32_t node[COVER_NODES_MAX]; /* node of each number in the cover */
	struct cover cover;
	struct cover_answer answer;
};

static bool is_single(const struct sched *s, uint32_t job)
{
	const struct request *r = cluster_job_request(s->c, cluster_job(s->c, job));

	return r->nfrags == 1 && r->nfixed == 0 && !r->whole && !plan_in_partition(s->p, job);
}

/* Adds a node to the cover if one of the jobs may use it. */
static void node_offer(struct sched *s, struct choice *x, int32_t node, int64_t soonest)
{
	struct cover *c = &x->cover;
	struct res room;
	bool any = false;

	for (int j = 0; j < x->n; j++)
		if (plan_fits_on(s->p, &s->plain, x->job[j].job, node, s->now, s->now + x->job[j].length)) {
			cover_allow(c, j, c->nodes);
			any = true;
		}
	if (!any)
		return;
	timeline_least(&s->p->node[node].line, s->now, soonest, &room);
	for (int d = 0; d < c->dims; d++)
		c->room[c->nodes][d] = room.v[d];
	/* a reservation for later does not make a node used: jobs would spread over idle ones */
	c->used[c->nodes] = s->p->free_now[node] < s->p->total[node].v[RES_CPU];
	x->node[c->nodes++] = node;
}

static void choice_solve(struct sched *s, struct choice *x)
{
	struct cover *c = &x->cover;
	int64_t soonest = TIME_NEVER;

	c->jobs = x->n;
	c->dims = s->c->nres < COVER_DIMS ? s->c->nres : COVER_DIMS;
	for (int j = 0; j < x->n; j++) {
		const struct request *r = cluster_job_request(s->c, cluster_job(s->c, x->job[j].job));
		for (int d = 0; d < c->dims; d++)
			c->need[j][d] = r->total.v[d];
		if (s->now + x->job[j].length < soonest)
			soonest = s->now + x->job[j].length;
	}
	for (int32_t n = 0; n < (int32_t)s->p->nnodes && c->nodes < COVER_NODES_MAX; n++)
		if (s->p->free_now[n] > 0)
			node_offer(s, x, n, soonest);
	s->p->work += (uint64_t)x->n * s->p->nnodes;
	cover_solve(c, STEPS, &x->answer);
}

void cover_choose(struct sched *s, const struct queued *jobs, size_t n, int32_t *ret_node)
{
	struct choice *x = mem_zalloc(sizeof *x);
	size_t of[JOBS];

	for (size_t i = 0; i < n; i++) {
		ret_node[i] = NODE_ANY;
		if (x->n < JOBS && jobs[i].cpus > 0 && is_single(s, jobs[i].job)) {
			of[x->n] = i;
			x->job[x->n++] = jobs[i];
		}
	}
	if (x->n > 1)
		choice_solve(s, x);
	for (int j = 0; x->n > 1 && j < x->n; j++)
		if (x->answer.node[j] != COVER_NONE)
			ret_node[of[j]] = x->node[x->answer.node[j]];
	free(x);
}
