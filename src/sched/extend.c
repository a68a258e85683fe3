/*
 * extend.c - changes the walltime of a running job.
 *
 * A job may end later if nothing that has a place in the plan starts later because of it: neither
 * promises (deadlines) nor reservations. A reserved job that is in the way on one node may move to
 * another for the same time.
 */
#include <stdlib.h>

#include "sched/sched_internal.h"

#define AWAY_MOST 64	 /* maximum reserved jobs moved for one extension */
#define CLAIMS_MOST 4096 /* maximum fragments of reserved jobs examined for it */

/* A reserved place. */
struct claim {
	uint32_t job;
	int64_t start, end;
};
typedef VEC(struct claim) claim_vec;

static bool claims_have(const claim_vec *v, uint32_t job)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->v[i].job == job)
			return true;
	return false;
}

/* Collects at most `most` reserved pieces that overlap [from, until) and are on the nodes of a
 * running job, including those of jobs with whole machines, or take the same amounts. */
static void claims_find(const struct sched *s, uint32_t id, int64_t from, int64_t until, size_t most, claim_vec *ret)
{
	const struct request *r = cluster_job_request(s->c, cluster_job(s->c, id));

	for (uint32_t i = 0; i < plan_hold(s->p, id)->nfrags; i++) {
		int32_t node = plan_place(s->p, id, i)->node, n = node;
		uint8_t own = plan_piece(s->p, id, i)->whole;
		do {
			const piece_vec *v = &s->p->node[n].pieces;
			for (size_t k = 0; k < v->n && ret->n < most; k++) {
				const struct piece *x = &v->v[k];
				if (!x->live && x->start < until && x->end > from &&
				    (n == node || own == WHOLE_HOST || x->whole == WHOLE_HOST))
					vec_push(ret, (struct claim){x->job, x->start, x->end});
			}
			n = plan_next_whole(s->p, s->p->machines ? WHOLE_HOST : WHOLE_NOT, node, n);
		} while (n != node);
	}
	for (uint32_t n = 0; n < s->p->nnodes && r->nportions; n++)
		for (size_t k = 0; k < s->p->node[n].pieces.n && ret->n < most; k++) {
			const struct piece *x = &s->p->node[n].pieces.v[k];
			if (!x->live && x->frag == 0 && x->start < until && x->end > from &&
			    requests_share(r, cluster_job_request(s->c, cluster_job(s->c, x->job))))
				vec_push(ret, (struct claim){x->job, x->start, x->end});
		}
}

/* Lists the jobs whose planned places a longer run of job `id`, until `until`, would overlap; each
 * job once. */
static void in_the_way(const struct sched *s, uint32_t id, int64_t until, claim_vec *ret)
{
	claim_vec all = {0};

	claims_find(s, id, plan_piece(s->p, id, 0)->end, until, CLAIMS_MOST, &all);
	for (size_t i = 0; i < all.n && ret->n <= AWAY_MOST; i++)
		if (!claims_have(ret, all.v[i].job))
			vec_push(ret, all.v[i]);
	vec_free(&all);
}

/* Extends the job to `until`, in a transaction, with all reserved jobs starting when they were
 * to. On false the caller rolls back. */
static bool fits(struct sched *s, uint32_t id, int64_t until)
{
	claim_vec away = {0};
	bool good = plan_cut(s->p, id, until);

	if (good)
		return true;
	in_the_way(s, id, until, &away);
	good = away.n <= AWAY_MOST;
	for (size_t i = 0; i < away.n && good; i++)
		plan_take_job(s->p, away.v[i].job);
	good = good && plan_cut(s->p, id, until);
	for (size_t i = 0; i < away.n && good; i++)
		good = plan_insert(s->p, &s->plain, away.v[i].job, away.v[i].start, away.v[i].end);
	vec_free(&away);
	return good;
}

static bool room_until(struct sched *s, uint32_t id, int64_t until)
{
	plan_mark mark = plan_begin(s->p);
	bool good = plan_cut(s->p, id, until);

	plan_rollback(s->p, mark);
	return good;
}

static int claim_cmp(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

/* Returns true if the job would have room a little longer without that other job. */
static bool is_obstacle(struct sched *s, uint32_t id, const struct claim *x)
{
	plan_mark mark = plan_begin(s->p);
	bool good;

	plan_take_job(s->p, x->job);
	good = plan_cut(s->p, id, x->start + 1);
	plan_rollback(s->p, mark);
	return good;
}

/* Finds how long the job may stay while all other jobs stay where they are: until the first
 * claim that it could not outlast. */
static void obstacle_find(struct sched *s, uint32_t id, int64_t until, struct obstacle *ret)
{
	int64_t end = plan_piece(s->p, id, 0)->end;
	claim_vec all = {0};
	size_t low = 0, high;

	*ret = (struct obstacle){JOB_NONE, end};
	claims_find(s, id, end, until, SIZE_MAX, &all);
	if (all.n)
		qsort(all.v, all.n, sizeof *all.v, claim_cmp);
	while (low < all.n && all.v[low].start < end) /* already running beside it */
		low++;
	for (high = all.n; low < high;) {
		size_t middle = low + (high - low) / 2;
		if (room_until(s, id, all.v[middle].start + 1))
			low = middle + 1;
		else
			high = middle;
	}
	if (low < all.n)
		*ret = (struct obstacle){all.v[low].job, all.v[low].start};
	for (size_t i = low; i < all.n && all.v[i].start == ret->until; i++)
		if (is_obstacle(s, id, &all.v[i])) {
			ret->job = all.v[i].job;
			break;
		}
	vec_free(&all);
}

bool sched_may_extend(struct sched *s, uint32_t id, int64_t until, int64_t now, struct obstacle *ret)
{
	plan_mark mark;
	bool good;

	s->now = now;
	plan_advance(s->p, now);
	if (until <= plan_piece(s->p, id, 0)->end)
		return true;
	if (victims_has(s, id)) {
		*ret = (struct obstacle){cluster_job(s->c, id)->by, plan_piece(s->p, id, 0)->end};
		return false;
	}
	mark = plan_begin(s->p);
	good = fits(s, id, until);
	plan_rollback(s->p, mark);
	if (!good)
		obstacle_find(s, id, until, ret);
	return good;
}

void sched_set_end(struct sched *s, uint32_t id, int64_t until, int64_t now)
{
	plan_mark mark;
	int64_t end = plan_piece(s->p, id, 0)->end;

	sched_at(s, now);
	slot_run(s, cluster_job(s->c, id));
	if (victims_has(s, id)) { /* its place is needed earlier, and remains so */
		victims_full(s, id, until);
		until = until < end ? until : end;
	}
	if (until == end)
		return;
	if (until > end) {
		mark = plan_begin(s->p);
		if (!fits(s, id, until)) {
			plan_rollback(s->p, mark);
			sched_overrun(s, id, until, now);
			return;
		}
		special_tell(s, mark, id);
	} else {
		plan_set_end(s->p, id, until);
	}
	sched_emit(s, EVENT_MIGRATE, id, until, JOB_NONE);
	sched_refresh(s);
}

void extend_after_outage(struct sched *s)
{
	job_vec cut = {0};

	for (uint32_t n = 0; n < s->p->nnodes; n++)
		for (size_t i = 0; i < s->p->node[n].pieces.n; i++) {
			const struct piece *x = &s->p->node[n].pieces.v[i];
			const struct job *job = cluster_job(s->c, x->job);
			if (x->running && x->frag == 0 && x->end == s->outage.begin && job->saving &&
			    job->start + sched_length(s, job) > x->end)
				vec_push(&cut, x->job);
		}
	for (size_t i = 0; i < cut.n; i++) {
		const struct job *job = cluster_job(s->c, cut.v[i]);
		sched_set_end(s, job->id, job->start + sched_length(s, job), s->now);
	}
	vec_free(&cut);
}
