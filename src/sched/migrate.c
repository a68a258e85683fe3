/*
 * migrate.c - moves one running job to make room for a blocked one, using checkpoints.
 *
 * A job may continue elsewhere, at a cost in seconds, with all of its fragments: its checkpoint
 * covers the whole job. For a job that cannot be placed now, the scheduler tries to move running
 * jobs that would let it in once they leave a node that is short, fewest CPU-seconds first. There
 * is at most one move per blocked job, and a limited number of tries per cycle.
 *
 * A move must be worth it: the moved job has run for as long as the move costs, so that it
 * progresses between two moves, and would still run for twice as long. Jobs with deadlines stay
 * where they are, and so do places promised to others: both new places are free.
 *
 * Where the caller knows how to stop and restart a job (sched_on_move), a move is a PREEMPT by the
 * blocked job and a START elsewhere in the same cycle; the listener takes care of when processors
 * become free. Otherwise, in a simulator, it is a MIGRATE at settings.migrate_cost.
 */
#include <stdlib.h>

#include "sched/sched_internal.h"

#define MIGRATE_TRIES 64 /* maximum moves tried for one blocked job */
#define MIGRATE_ASKS 32	 /* maximum blocked jobs for which moves are tried in one cycle */

/* A move that might help. Moves with the fewest CPU-seconds to carry come first. */
struct move {
	double area;
	int64_t cost;
	uint32_t job;
};

static int move_cmp(const void *a, const void *b)
{
	const struct move *x = a, *y = b;

	if (x->area != y->area)
		return x->area < y->area ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static int64_t cost_of(const struct sched *s, uint32_t job)
{
	return s->ears.move ? s->ears.move(s->ears.move_context, job) : s->c->settings.migrate_cost;
}

/* Returns true for a job moved in this pass; it runs at its old place until the pass is over. */
static bool is_moved(const struct sched *s, uint32_t job)
{
	for (size_t i = 0; i < s->moves.made.n; i++)
		if (s->moves.made.v[i].job == job)
			return true;
	return false;
}

/* Returns true if a running job may make room, and writes the cost. A job that has only just
 * begun is examined again later. */
static bool may_move(struct sched *s, const struct piece *x, int64_t *ret_cost)
{
	const struct job *job = cluster_job(s->c, x->job);

	if (!x->running || x->fixed || job->state != STATE_RUNNING || job->deadline != TIME_NEVER || is_special(job) ||
	    victims_has(s, x->job) || is_moved(s, x->job))
		return false;
	*ret_cost = cost_of(s, x->job);
	if (*ret_cost < 0 || x->end - s->now < 2 * *ret_cost)
		return false;
	int64_t from = job->start + *ret_cost;
	if (from > s->now && x->end - from >= 2 * *ret_cost && from < s->moves.at)
		s->moves.at = from;
	return from <= s->now;
}

/* Returns the CPUs of all fragments. */
static int64_t cpus_of(const struct sched *s, uint32_t job)
{
	return cluster_job_request(s->c, cluster_job(s->c, job))->total.v[RES_CPU];
}

static bool is_candidate(const struct move *v, size_t n, uint32_t job)
{
	while (n > 0 && v[n - 1].job != job)
		n--;
	return n > 0;
}

/* Tries to move a running job so that the blocked one fits. */
static bool migrate_one(struct sched *s, const struct move *move, uint32_t job, int64_t length)
{
	struct piece x = *plan_piece(s->p, move->job, 0);
	int64_t end = s->ears.move ? s->now + sched_length(s, cluster_job(s->c, move->job)) : x.end + move->cost;
	plan_mark mark = plan_begin(s->p);
	struct manner m = s->plain;

	m.push_depth = 0;
	plan_take_job(s->p, move->job);
	if (!plan_insert(s->p, &m, job, s->now, s->now + length) || !plan_insert(s->p, &m, move->job, s->now, end)) {
		plan_rollback(s->p, mark);
		return false;
	}
	if (s->ears.move) {
		plan_commit(s->p, mark);
		vec_push(&s->moves.made, (struct moved){move->job, job});
	} else {
		special_tell(s, mark, job); /* also emits the event of the moved job */
	}
	plan_run(s->p, move->job);
	s->stats.migrations++;
	return true;
}

bool migrate_for(struct sched *s, uint32_t job, int64_t length)
{
	const struct request *r = cluster_job_request(s->c, cluster_job(s->c, job));
	/* need of the largest fragment */
	const struct res *need = &s->c->shapes.v[r->frag[r->nfrags - 1].shape].need;
	VEC(struct move) moves = {0};
	bool done = false;

	if ((s->c->settings.migrate_cost < 0 && !s->ears.move) || s->p->nnodes < 2 || s->effort.moves >= MIGRATE_ASKS)
		return false;
	if (!timeline_fits(plan_sum(s->p), s->now, s->now + length, &r->total) ||
	    !plan_amounts_fit(s->p, job, s->now, s->now + length))
		return false;
	s->effort.moves++;
	for (uint32_t n = 0; n < s->p->nnodes; n++) {
		const piece_vec *v = &s->p->node[n].pieces;
		int64_t enough = (r->whole ? &s->p->total[n] : need)->v[RES_CPU], cost;
		if (s->p->free_now[n] >= enough || s->p->free_now[n] == 0)
			continue;
		for (size_t i = 0; i < v->n; i++) {
			const struct piece *x = &v->v[i];
			int64_t cpus = s->c->shapes.v[x->shape].need.v[RES_CPU];
			if (s->p->free_now[n] + cpus < enough || !may_move(s, x, &cost))
				continue;
			if (plan_hold(s->p, x->job)->nfrags > 1 && is_candidate(moves.v, moves.n, x->job))
				continue;
			vec_push(&moves,
				 (struct move){(double)cpus_of(s, x->job) * (double)(x->end - s->now), cost, x->job});
		}
	}
	if (moves.n > 1)
		qsort(moves.v, moves.n, sizeof *moves.v, move_cmp);
	for (size_t i = 0; i < moves.n && i < MIGRATE_TRIES && !done; i++)
		done = migrate_one(s, &moves.v[i], job, length);
	vec_free(&moves);
	return done;
}

void migrate_start(struct sched *s)
{
	for (size_t i = 0; i < s->moves.made.n; i++) {
		uint32_t id = s->moves.made.v[i].job;
		const struct job *job = cluster_job(s->c, id);

		sched_emit(s, EVENT_PREEMPT, id, 0, s->moves.made.v[i].by);
		slot_count(s, job, 1); /* it continues: as in starting_add() */
		sched_emit(s, EVENT_START, id, plan_piece(s->p, id, 0)->end, JOB_NONE);
		if (s->due.dates)
			history_start(s, job);
		if (s->policy->know == KNOW_PREDICTION)
			heap_push(&s->expiry, plan_piece(s->p, id, 0)->end, job->attempt, id);
	}
	vec_clear(&s->moves.made);
}
