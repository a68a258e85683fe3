/*
 * forecast.c - when jobs would start by what is planned and asked for now. Everything happens inside a transaction that is rolled
 * back: a forecast changes nothing, and is as good as the walltimes are.
 */
#include "sched/explain.h"
#include "sched/sched_internal.h"

struct forecast {
	size_t left; /* how many more may be placed */
	void (*one)(void *context, uint32_t job, int64_t start, int64_t end);
	void *context;
};

static void forecast_one(struct sched *s, struct forecast *f, uint32_t id, int64_t length)
{
	struct manner m = s->plain;
	int64_t at;

	if (f->left == 0)
		return;
	f->left--;
	m.push_depth = 0;
	at = plan_holds(s->p, id) ? plan_piece(s->p, id, 0)->start : plan_insert_earliest(s->p, &m, id, s->now, length);
	if (at != TIME_NEVER && f->one)
		f->one(f->context, id, at, at + length);
}

/* Jobs with promises first, then common ones: those that are overdue, then by the policy's order. */
static void forecast_all(struct sched *s, struct forecast *f)
{
	queue_settle(s);
	for (size_t i = 0; i < s->special.n; i++)
		forecast_one(s, f, s->special.v[i], sched_length(s, cluster_job(s->c, s->special.v[i])));
	for (size_t i = 0; i < s->by_key.n && f->left; i++)
		forecast_one(s, f, s->by_key.v[i].job, s->by_key.v[i].length);
}

void sched_forecast(struct sched *s, size_t limit, void (*one)(void *context, uint32_t job, int64_t start, int64_t end),
		    void *context)
{
	struct forecast f = {limit, one, context};
	plan_mark mark = plan_begin(s->p);

	forecast_all(s, &f);
	plan_rollback(s->p, mark);
}

int64_t sched_whatif(struct sched *s, uint32_t id, size_t ahead, int64_t now, int32_t *nodes, bool *ret_guaranteed)
{
	const struct job *job = cluster_job(s->c, id);
	struct forecast f = {.left = ahead};
	struct manner m = s->plain;
	int64_t at, by = TIME_NEVER; /* by: the start that its guarantee would reserve */
	plan_mark mark;

	s->now = now;
	plan_advance(s->p, now);
	*ret_guaranteed = false;
	if (job->deadline != TIME_NEVER) { /* a promise goes before whoever has none */
		mark = plan_begin(s->p);
		m.may_remove = REMOVE_STARVING;
		by = plan_insert_latest(s->p, &m, id, now, job->deadline, sched_length(s, job));
		*ret_guaranteed = by != TIME_NEVER;
		if (*ret_guaranteed)
			plan_nodes(s->p, id, nodes);
		plan_rollback(s->p, mark);
		plan_forget(s->p, id);
	}
	mark = plan_begin(s->p);
	forecast_all(s, &f);
	at = plan_insert_earliest(s->p, &s->plain, id, now, sched_length(s, job));
	if (at < by)
		plan_nodes(s->p, id, nodes);
	plan_rollback(s->p, mark);
	plan_forget(s->p, id);
	return at < by ? at : by;
}
