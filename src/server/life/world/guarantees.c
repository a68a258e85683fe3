/*
 * guarantees.c - see guarantees.h.
 */
#include "server/life/world/guarantees.h"

#include <stddef.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/job.h"
#include "plan/plan.h"
#include "rules/attr.h"
#include "sched/forecast.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/job/jobs.h"
#include "server/life/world/decide.h"
#include "server/server.h"

#define NAMED_MOST 5
#define PACE 40000 /* see sched_pace() */

static bool waits_guaranteed(const struct server *s, uint32_t id)
{
	const struct job *job = entry_job(s, id);

	return entry_get(s, id)->spec && job->guaranteed && job_waits(job);
}

/* ---- the changes ---- */

static void settings_try(const struct server *s, struct forecast *copy, const struct risk *x)
{
	struct cluster *c = forecast_cluster(copy);

	c->settings.tolerance = attrs_number(s->attrs, SET_TOLERANCE);
	JOBS_EACH(s, id)
		if (entry_get(s, id)->spec && !entry_ended(s, id) && !entry_running(s, id))
			cluster_job(c, id)->ending = ending_of(s, entry_get(s, id)->spec, entry_job(s, id)->saving);
	sched_resize(forecast_sched(copy), s->clock->now);
}

static void shutdown_try(const struct server *s, struct forecast *copy, const struct risk *x)
{
	sched_outage(forecast_sched(copy), x->at, x->until, x->saves, s->clock->now);
}

static void offline_try(const struct server *s, struct forecast *copy, const struct risk *x)
{
	sched_drain(forecast_sched(copy), x->node, true, s->clock->now);
}

static void drain_try(const struct server *s, struct forecast *copy, const struct risk *x)
{
	sched_leaves(forecast_sched(copy), x->node, x->at, s->clock->now);
}

static void size_try(const struct server *s, struct forecast *copy, const struct risk *x)
{
	/* same order as world_node_size() */
	sched_drain(forecast_sched(copy), x->node, true, s->clock->now);
	cluster_resize_node(forecast_cluster(copy), x->node, &x->total);
	plan_resize_node(forecast_plan(copy), x->node);
	sched_drain(forecast_sched(copy), x->node, false, s->clock->now);
}

static void extend_try(const struct server *s, struct forecast *copy, const struct risk *x)
{
	sched_set_end(forecast_sched(copy), x->job, x->until, s->clock->now);
}

/* Functions that make each kind of change in a copy; NULL: the plan does not change. */
static void (*const tries[RISK_KINDS])(const struct server *s, struct forecast *copy, const struct risk *x) = {
	[RISK_SETTINGS] = settings_try, [RISK_SHUTDOWN] = shutdown_try, [RISK_OFFLINE] = offline_try,
	[RISK_DRAIN] = drain_try,	[RISK_SIZE] = size_try,		[RISK_EXTEND] = extend_try,
};

/* ---- broken guarantees ---- */

/* Finds running jobs that may not have met their deadlines when a shutdown ends them. */
static void ended_find(const struct server *s, int64_t at, job_vec *ret)
{
	JOBS_EACH(s, id) {
		const struct job *job = entry_job(s, id);
		if (entry_get(s, id)->spec && job->guaranteed && entry_running(s, id) &&
		    job->start + cluster_run(s->cluster, job) > at)
			vec_push(ret, id);
	}
}

/* Finds jobs planned to start while no job is started. */
static void unstarted_find(const struct server *s, const struct risk *x, job_vec *ret)
{
	JOBS_EACH(s, id)
		if (waits_guaranteed(s, id) && plan_holds(s->plan, id) && entry_job(s, id)->start >= x->at &&
		    entry_job(s, id)->start < x->until)
			vec_push(ret, id);
}

/* Makes the change in a copy, and lets special jobs find other places; common jobs, which may be
 * many, never take those. */
static struct forecast *change_try(const struct server *s, const struct risk *x)
{
	struct forecast *copy = forecast_create(s->sched);

	forecast_pace(copy, PACE);
	tries[x->kind](s, copy, x);
	do
		sched_cycle(forecast_sched(copy), s->clock->now);
	while (sched_specials_left(forecast_sched(copy)));
	return copy;
}

static void broken_find(const struct server *s, const struct risk *x, job_vec *ret)
{
	struct forecast *copy = NULL;

	JOBS_EACH(s, id) {
		if (!waits_guaranteed(s, id))
			continue;
		if (!copy)
			copy = change_try(s, x);
		if (!forecast_job(copy, id)->guaranteed)
			vec_push(ret, id);
	}
	forecast_destroy(copy);
}

static int refuse(const struct server *s, const job_vec *broken, struct err *err)
{
	struct strbuf names = {0};
	int rc;

	for (size_t i = 0; i < broken->n && i < NAMED_MOST; i++) {
		strbuf_puts(&names, i ? ", " : "");
		entry_id(s, broken->v[i], &names);
	}
	if (broken->n > NAMED_MOST)
		strbuf_printf(&names, " and %zu more", broken->n - NAMED_MOST);
	rc = err_code(err, CODE_BAD_STATE, "it would break guaranteed deadlines: %s (use --force to do it anyway)",
		      names.text);
	strbuf_fini(&names);
	return rc;
}

int guarantees_check(struct server *s, const struct risk *x, bool force, struct err *err)
{
	job_vec broken = {0};
	int rc = 0;

	if (force)
		return 0;
	if (s->turn->dirty) /* waiting jobs reserve first */
		turn_decide(s);
	if (x->kind == RISK_SHUTDOWN)
		ended_find(s, x->at, &broken);
	if (tries[x->kind])
		broken_find(s, x, &broken);
	else
		unstarted_find(s, x, &broken);
	if (broken.n)
		rc = refuse(s, &broken, err);
	vec_free(&broken);
	return rc;
}
