/*
 * extend.c - a running job gets another walltime.
 *
 * It may end later where nothing that has a place in the plan starts later for it: neither what was promised (deadlines) nor what is reserved. A reserved job that
 * is in the way on one node may go to another for the same time.
 */
#include "sched/sched_internal.h"

#define AWAY_MOST 64 /* reserved jobs that are moved for one extension */

struct away {
	uint32_t job;
	int64_t start, end;
};
typedef VEC(struct away) away_vec;

static bool away_has(const away_vec *v, uint32_t job)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->v[i].job == job)
			return true;
	return false;
}

/* Reserved jobs on the nodes of a running one that hold something between its planned end and `until`. */
static void in_the_way(const struct sched *s, uint32_t id, int64_t until, away_vec *ret)
{
	int64_t end = plan_piece(s->p, id, 0)->end;

	for (uint32_t i = 0; i < s->p->holds.v[id].nfrags; i++) {
		const piece_vec *v = &s->p->node[plan_place(s->p, id, i)->node].pieces;
		for (size_t k = 0; k < v->n && ret->n <= AWAY_MOST; k++) {
			const struct piece *x = &v->v[k];
			if (!x->live && x->start < until && x->end > end && !away_has(ret, x->job))
				vec_push(ret, (struct away){x->job, x->start, x->end});
		}
	}
}

/* In a transaction: the job ends at `until`, and whoever is reserved starts when it was to. False: the caller rolls back. */
static bool fits(struct sched *s, uint32_t id, int64_t until)
{
	away_vec away = {0};
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

/* The first instant of [from, until) at which `need` is not free; `until`: there is none. */
static int64_t first_short(const struct timeline *t, int64_t from, int64_t until, const struct res *need)
{
	for (uint32_t i = timeline_find(t, from); i < t->n; i++) {
		const int64_t *step = timeline_step(t, i);
		if (step[0] >= until)
			break;
		for (uint32_t d = 1; d < t->stride; d++)
			if (step[d] < need->v[d - 1])
				return step[0] > from ? step[0] : from;
	}
	return until;
}

/* Who is reserved on a node at an instant; of several the one that begins last. */
static uint32_t reserved_on(const struct sched *s, int32_t node, int64_t at)
{
	const piece_vec *v = &s->p->node[node].pieces;
	const struct piece *found = NULL;

	for (size_t i = 0; i < v->n; i++) {
		const struct piece *x = &v->v[i];
		if (!x->live && x->start <= at && at < x->end &&
		    (!found || x->start > found->start || (x->start == found->start && x->job < found->job)))
			found = x;
	}
	return found ? found->job : JOB_NONE;
}

/* How long it may stay while everybody else stays where he is: fragment by fragment, since several may share a node. */
static void obstacle_find(struct sched *s, uint32_t id, int64_t until, struct obstacle *ret)
{
	int64_t end = plan_piece(s->p, id, 0)->end;
	plan_mark mark = plan_begin(s->p);

	*ret = (struct obstacle){JOB_NONE, until};
	for (uint32_t i = 0; i < s->p->holds.v[id].nfrags; i++) {
		int32_t node = plan_place(s->p, id, i)->node;
		const struct res *need = &s->c->shapes.v[plan_piece(s->p, id, i)->shape].need;
		int64_t at;
		plan_take(s->p, id, i);
		at = first_short(&s->p->node[node].line, end, ret->until, need);
		if (at < ret->until)
			*ret = (struct obstacle){reserved_on(s, node, at), at};
		plan_put(s->p, id, i, node, s->now, ret->until);
	}
	plan_rollback(s->p, mark);
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

	s->now = now;
	plan_advance(s->p, now);
	if (victims_has(s, id)) { /* its place is needed before: that stays so */
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
