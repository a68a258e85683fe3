/*
 * fences.c - reservations, as the scheduler sees them: fences in the plan (plan/fence.h), and jobs with keys to them.
 *
 * When a fence begins or ends nothing is freed, but jobs that wait may start: the scheduler wakes then and asks about all of them.
 */
#include "plan/fence.h"
#include "sched/sched_internal.h"

/* Takes the places, on nodes of the plan, of jobs that have not started and do not pass any more. */
static void places_review(struct sched *s)
{
	for (uint32_t n = 0; n < s->p->nnodes; n++) {
		const piece_vec *v = &s->p->node[n].pieces;
		for (size_t i = 0; i < v->n;) {
			const struct piece *x = &v->v[i];
			const struct job *job = cluster_job(s->c, x->job);
			if (x->running || plan_piece_passes(s->p, job, x->whole, (int32_t)n, x->start, x->end)) {
				i++;
				continue;
			}
			place_lose(s, x->job, JOB_NONE);
			i = 0;
		}
	}
}

void sched_fences(struct sched *s, const struct node_fence *fences, size_t n, int64_t now)
{
	if (n == 0 && s->p->edges.n == 0)
		return;
	s->now = now;
	plan_advance(s->p, now);
	places_ease(s);
	plan_unfence(s->p);
	for (size_t i = 0; i < n; i++)
		plan_fence(s->p, fences[i].node, &fences[i].fence);
	places_review(s);
	s->next_edge = plan_next_edge(s->p, now);
	sched_refresh(s);
}

/* Whether all that a job holds is where it may be. */
static bool passes(const struct sched *s, const struct job *job)
{
	for (uint32_t i = 0; i < s->p->holds.v[job->id].nfrags; i++) {
		const struct piece *x = plan_piece(s->p, job->id, i);
		if (!plan_piece_passes(s->p, job, x->whole, plan_place(s->p, job->id, i)->node, x->start, x->end))
			return false;
	}
	return true;
}

void sched_keys(struct sched *s, uint32_t id, uint32_t keys, uint32_t bound, int64_t now)
{
	struct job *job = cluster_job(s->c, id);

	if (job->keys == keys && job->bound == bound)
		return;
	job->keys = keys;
	job->bound = bound;
	if (!job_waits(job))
		return;
	s->now = now;
	plan_advance(s->p, now);
	places_ease(s);
	if (plan_holds(s->p, id) && !passes(s, job))
		place_lose(s, id, JOB_NONE);
	sched_refresh(s);
}

void fences_reach(struct sched *s)
{
	if (s->next_edge > s->now)
		return;
	s->next_edge = plan_next_edge(s->p, s->now);
	sched_refresh(s);
}

bool fences_find(const struct sched *s, uint32_t id, int64_t length, struct fence *ret)
{
	const struct job *job = cluster_job(s->c, id);
	const struct nodeset *on = cluster_job_nodes(s->c, job);
	bool found = false;

	for (uint32_t n = 0; n < s->p->nnodes; n++) {
		const struct fence *f = NULL;
		if (!s->p->node[n].up || (on && !nodeset_has(on, n)))
			continue;
		if (job->bound) {
			const fence_vec *v = s->p->node[n].fences;
			for (size_t i = 0; v && i < v->n && !f; i++)
				f = v->v[i].id == job->bound && v->v[i].end > s->now ? &v->v[i] : NULL;
		} else {
			plan_passes(s->p, job, n, s->now, s->now + length, &f);
		}
		if (f && (!found || f->start < ret->start)) {
			*ret = *f;
			found = true;
		}
	}
	return found;
}
