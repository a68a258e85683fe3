/*
 * fences.c - reservations as the scheduler sees them: fences in the plan (plan/fence.h), and jobs
 * with keys to them.
 *
 * Nothing is freed when a fence begins or ends, but waiting jobs may become able to start: the
 * scheduler wakes then and considers all of them.
 */
#include "plan/fence.h"
#include "sched/sched_internal.h"

/* Returns true if a placed job, together with other jobs without the key, takes more of an
 * amount than is left by what is kept for others. */
static bool amounts_exceed(const struct sched *s, const struct piece *x)
{
	const struct request *r = cluster_job_request(s->c, cluster_job(s->c, x->job));

	for (uint32_t i = 0; i < r->nportions && s->p->kept.n; i++)
		if (plan_amount_open(s->p, x->job, r->portion[i].amount, x->start, x->end, NULL) < 0)
			return true;
	return false;
}

/* Takes away the places of jobs that have not started and no longer pass the fences. */
static void places_review(struct sched *s)
{
	for (uint32_t n = 0; n < s->p->nnodes; n++) {
		const piece_vec *v = &s->p->node[n].pieces;
		for (size_t i = 0; i < v->n;) {
			const struct piece *x = &v->v[i];
			const struct job *job = cluster_job(s->c, x->job);
			if (x->running || (plan_piece_passes(s->p, job, x->whole, (int32_t)n, x->start, x->end) &&
					   plan_rest_kept(s->p, n, x) && !amounts_exceed(s, x))) {
				i++;
				continue;
			}
			place_lose(s, x->job, JOB_NONE);
			i = 0;
		}
	}
}

static bool has_begun(const struct sched *s, uint32_t id)
{
	for (size_t i = 0; i < s->fences.begun.n; i++)
		if (s->fences.begun.v[i] == id)
			return true;
	return false;
}

static void edges_find(struct sched *s)
{
	s->fences.next_edge = plan_next_edge(s->p, s->now);
	vec_clear(&s->fences.begun);
	for (uint32_t n = 0; n < s->p->nnodes; n++) {
		const fence_vec *v = s->p->node[n].fences;
		for (size_t i = 0; v && i < v->n && v->v[i].start <= s->now; i++)
			if (v->v[i].end > s->now && !has_begun(s, v->v[i].id))
				vec_push(&s->fences.begun, v->v[i].id);
	}
}

bool fences_too_early(const struct sched *s, uint32_t job)
{
	uint32_t bound = cluster_job(s->c, job)->bound;

	return bound && !has_begun(s, bound);
}

static struct bound_places *places_of(const struct depth *d, uint32_t bound)
{
	for (size_t i = 0; i < d->bound.n; i++)
		if (d->bound.v[i].bound == bound)
			return &d->bound.v[i];
	return NULL;
}

void depth_count(struct depth *d, const struct job *job, int places)
{
	struct bound_places *x = job->bound ? places_of(d, job->bound) : NULL;

	if (!job->bound)
		d->common += places;
	else if (x)
		x->n += places;
	else
		vec_push(&d->bound, (struct bound_places){job->bound, places});
}

bool depth_reached(const struct depth *d, const struct job *job)
{
	const struct bound_places *x = job->bound ? places_of(d, job->bound) : NULL;

	return d->most > 0 && (job->bound ? x && x->n >= d->most : d->common >= d->most);
}

bool depth_full(const struct sched *s, const struct depth *d)
{
	return d->most > 0 && d->common >= d->most && !s->line.bound;
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
		if (fences[i].keep)
			plan_keep(s->p, fences[i].node, fences[i].keep, &fences[i].fence);
		else
			plan_fence(s->p, fences[i].node, &fences[i].fence);
	places_review(s);
	places_again(s);
	edges_find(s);
	sched_refresh(s);
}

/* Returns true if fences allow everything that a job holds. */
static bool passes(const struct sched *s, const struct job *job)
{
	for (uint32_t i = 0; i < plan_hold(s->p, job->id)->nfrags; i++) {
		const struct piece *x = plan_piece(s->p, job->id, i);
		int32_t node = plan_place(s->p, job->id, i)->node;
		if (!plan_piece_passes(s->p, job, x->whole, node, x->start, x->end) ||
		    !plan_rest_kept(s->p, (uint32_t)node, x))
			return false;
	}
	return true;
}

void sched_keys(struct sched *s, uint32_t id, uint32_t keys, uint32_t bound, int64_t now)
{
	struct job *job = cluster_job(s->c, id);
	uint32_t was = job->bound;

	if (job->keys == keys && job->bound == bound)
		return;
	job->keys = keys;
	job->bound = bound;
	if (!job_waits(job))
		return;
	s->line.bound |= bound != 0;
	if (was && !bound && s->starving && job->kind == KIND_COMMON)
		patience_begin(s, job);
	s->now = now;
	plan_advance(s->p, now);
	places_ease(s);
	if (plan_holds(s->p, id) && !passes(s, job))
		place_lose(s, id, JOB_NONE);
	places_again(s);
	sched_refresh(s);
}

void fences_reach(struct sched *s)
{
	if (s->fences.next_edge > s->now)
		return;
	edges_find(s);
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
			struct res rest;
			if (plan_passes(s->p, job, n, s->now, s->now + length, &f))
				plan_rest(s->p, job, n, s->now, s->now + length, &rest, &f);
		}
		if (f && (!found || f->start < ret->start)) {
			*ret = *f;
			found = true;
		}
	}
	for (uint32_t i = 0; i < cluster_job_request(s->c, job)->nportions && !found && !job->bound; i++) {
		const struct portion *x = &cluster_job_request(s->c, job)->portion[i];
		const struct kept_amount *k;
		if (plan_amount_open(s->p, id, x->amount, s->now, s->now + length, &k) < x->count && k) {
			*ret = k->fence;
			found = true;
		}
	}
	return found;
}
