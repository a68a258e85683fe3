/*
 * migrate.c - moving one running job to make room for a blocked one: what checkpoints make possible.
 *
 * A job of one fragment may go on elsewhere, `migrate_cost` seconds later than planned. For a job that can't be placed
 * now, nodes are tried in the order of what they are short of, and on each the fragment that, once gone, lets the
 * job in; the smallest that does is moved. At most one move per blocked job.
 */
#include <stdlib.h>

#include "sched/sched_internal.h"

#define MIGRATE_TRIES 64 /* moves tried for one blocked job */

/* A move that might help: the least CPU-seconds to carry first. */
struct move {
	double area;
	uint32_t job;
};

static int move_cmp(const void *a, const void *b)
{
	const struct move *x = a, *y = b;

	if (x->area != y->area)
		return x->area < y->area ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

/* Tries to move a running job so that the blocked one fits. */
static bool migrate_one(struct sched *s, uint32_t mover, uint32_t job, int64_t length)
{
	struct piece x = *plan_piece(s->p, mover, 0);
	int64_t end = x.end + s->c->settings.migrate_cost;
	plan_mark mark = plan_begin(s->p);
	struct manner m = s->plain;

	m.push_depth = 0;
	plan_take(s->p, mover, 0);
	if (plan_insert(s->p, &m, job, s->now, s->now + length) && plan_insert(s->p, &m, mover, s->now, end)) {
		special_tell(s, mark, job); /* also of the one that moves */
		plan_run(s->p, mover);
		s->stats.migrations++;
		return true;
	}
	plan_rollback(s->p, mark);
	return false;
}

bool migrate_for(struct sched *s, uint32_t job, int64_t length)
{
	const struct request *r = cluster_job_request(s->c, cluster_job(s->c, job));
	const struct res *need = &s->c->shapes.v[r->frag[r->nfrags - 1].shape].need; /* the largest fragment's */
	VEC(struct move) moves = {0};
	bool done = false;

	if (s->c->settings.migrate_cost < 0 || s->p->nnodes < 2)
		return false;
	if (!timeline_fits(plan_sum(s->p), s->now, s->now + length, &r->total))
		return false;
	for (uint32_t n = 0; n < s->p->nnodes; n++) {
		const piece_vec *v = &s->p->node[n].pieces;
		int64_t enough = (r->whole ? &s->p->total[n] : need)->v[RES_CPU];
		if (s->p->free_now[n] >= enough || s->p->free_now[n] == 0)
			continue;
		for (size_t i = 0; i < v->n; i++) {
			const struct piece *x = &v->v[i];
			const struct job *other = cluster_job(s->c, x->job);
			int64_t cpus = s->c->shapes.v[x->shape].need.v[RES_CPU];
			if (!x->running || x->fixed || s->p->holds.v[x->job].nfrags > 1 ||
			    other->state != STATE_RUNNING || other->deadline != TIME_NEVER || victims_has(s, x->job) ||
			    s->p->free_now[n] + cpus < enough)
				continue;
			vec_push(&moves, (struct move){(double)cpus * (double)(x->end - s->now), x->job});
		}
	}
	if (moves.n > 1)
		qsort(moves.v, moves.n, sizeof *moves.v, move_cmp);
	for (size_t i = 0; i < moves.n && i < MIGRATE_TRIES && !done; i++)
		done = migrate_one(s, moves.v[i].job, job, length);
	vec_free(&moves);
	return done;
}
