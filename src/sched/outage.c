/*
 * outage.c - before an announced shutdown (sched_outage), lets jobs that make checkpoints use the
 * remaining time although they cannot end by then.
 *
 * They are started where nothing else has a place, after all jobs that can end in time. The plan
 * holds them until the shutdown, which saves and stops them; they continue afterwards, like any job
 * that was stopped. None of this is reserved: a job that could start this way later is shown at the
 * place planned without it, until a forecast reaches that instant.
 */
#include "sched/cursor.h"
#include "sched/sched_internal.h"

#define TRIES_MOST 1000 /* maximum jobs tried in a cycle */

static bool is_candidate(const struct sched *s, const struct queued *e)
{
	const struct job *job = cluster_job(s->c, e->job);
	int64_t left = s->outage.begin - s->now;

	return job->saving && left > 2 * job->saving && sched_length(s, job) > left && e->planned > s->now &&
	       !cluster_nightly(s->c, job) && sched_may(s, e->job);
}

/* Places a job from now until the shutdown, instead of its later place. */
static bool place_until_outage(struct sched *s, uint32_t id)
{
	struct manner m = s->plain;
	plan_mark mark = plan_begin(s->p);

	m.push_depth = 0;
	plan_take_job(s->p, id);
	if (!plan_insert(s->p, &m, id, s->now, s->outage.begin)) {
		plan_rollback(s->p, mark);
		return false;
	}
	plan_commit(s->p, mark);
	return true;
}

static void reserved_forget(struct sched *s, uint32_t id)
{
	for (size_t i = 0; i < s->reserved.n; i++)
		if (s->reserved.v[i] == id) {
			vec_remove(&s->reserved, i);
			return;
		}
}

void outage_fill(struct sched *s)
{
	struct queued *e;
	struct cursor i;
	int tries = 0;

	if (!s->outage.saves || s->outage.begin == TIME_NEVER || s->outage.begin <= s->now)
		return;
	queue_settle(s);
	for (cursor_open(&i, s, &s->line.by_key); (e = cursor_at(&i)) && tries < TRIES_MOST;) {
		struct queued was = *e;
		if (!is_candidate(s, e) || (tries++, !place_until_outage(s, e->job))) {
			cursor_step(&i);
			continue;
		}
		if (s->policy->position) { /* start_due() follows */
			ranks_plan(&s->line.by_key, e, s->now);
			cursor_step(&i);
			continue;
		}
		reserved_forget(s, was.job);
		starting_add(s, was.job);
		queue_remove(s, was.job);
		cursor_left(&i, &was);
	}
	cursor_close(&i);
}
