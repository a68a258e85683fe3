/*
 * guarantee.c - see guarantee.h.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "core/cluster.h"
#include "rules/attr.h"
#include "sched/forecast.h"
#include "sched/sched.h"
#include "server/api/jobs/guarantee.h"
#include "server/api/jobs/submit_work.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/base/work.h"
#include "server/book/prices.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/life/world/decide.h"
#include "server/life/world/dispatch.h"
#include "server/life/world/entrance.h"
#include "server/life/world/shares.h"
#include "server/life/world/world.h"
#include "server/server.h"

/* maximum nodes examined to find the earliest end that a refusal reports */
#define SOON_WORK 200000
#define ASK_WORK 50000 /* nodes examined in one step of the search for a guarantee */

/* Returns true if a job needs a check now: for a guarantee, or for a start at once. */
static bool is_asked(const struct submission *x)
{
	return x->guarantee || x->spec->now;
}

bool guarantee_wanted(const struct submit_work *w)
{
	for (size_t i = w->asked; i < w->jobs.n; i++)
		if (is_asked(&w->jobs.v[i]))
			return true;
	return false;
}

/* Returns true once all earlier jobs have been decided about. It runs a cycle even if nothing has
 * happened, since the last one may have made room. */
static bool decided(struct server *s, bool begins)
{
	if (begins && !s->turn->undecided) {
		dispatch_settle(s);
		scheduler_decide(s);
	}
	return !s->turn->undecided && !s->slices->queue_stops;
}

/* Checks a guarantee where every job has a position (policy artaras). One more job may move all of
 * them, so a cycle is run on a copy. */
static enum keep position_keeps(struct server *s, const struct spec *p, int64_t *ret_done)
{
	uint32_t n = spec_asked(s, p)->nfrags;
	int32_t *nodes = mem_zalloc((n + 1) * sizeof *nodes);
	struct forecast *f = forecast_create(s->sched);
	uint32_t job = forecast_copies(f, s->world->scratch, 1, NULL, 0); /* behind jobs of the same rank */
	struct whatif x;

	forecast_pace(f, 0); /* the following cycle has to be complete */
	forecast_submit(f, job, s->clock->now, false);
	forecast_whatif(f, job, 0, &x, nodes);
	forecast_destroy(f);
	free(nodes);
	*ret_done = x.start == TIME_NEVER ? TIME_NEVER : x.start + p->walltime;
	return x.guaranteed ? KEEP_YES : KEEP_NO;
}

/* Adds to the error which of several jobs it is about. */
static int refused(const struct submit_work *w, int rc, struct err *err)
{
	return w->bulk ? err_prefix(err, rc, "jobs[%zu]", w->asked) : rc;
}

/* Checks that an interactive job can start at once. */
static int entrance_ask(struct server *s, struct submit_work *w, struct err *err)
{
	int rc;

	trial_enter(s, &w->trial);
	rc = entrance_check(s, &w->jobs.v[w->asked], err);
	trial_leave(s);
	return rc;
}

int guarantee_ask(struct server *s, struct submit_work *w, struct err *err)
{
	const struct submission *x = &w->jobs.v[w->asked];
	bool begins = is_asked(x) && w->until == 0;
	enum keep keep = KEEP_YES;
	int64_t done = TIME_NEVER;

	if (x->guarantee && !attrs_bool(s->attrs, SET_SCHEDULING))
		return refused(
			w,
			err_code(
				err, CODE_REFUSED,
				"the deadline can't be guaranteed now: the server starts no jobs (scheduling is False)"),
			err);
	if (begins)
		w->until = x->spec->now ? 1 : x->spec->deadline;
	w->work.waits = !decided(s, begins);
	if (w->work.waits)
		return 1;
	if (x->guarantee && x->spec->request == UINT32_MAX) {
		keep = KEEP_NO;
	} else if (x->guarantee) {
		trial_enter(s, &w->trial);
		if (w->until == x->spec->deadline) /* the search has not begun */
			shares_choose(s, x->spec);
		world_scratch(s, x->spec);
		trial_leave(s);
		keep = s->world->policy.position
			       ? position_keeps(s, x->spec, &done)
			       : sched_would_keep(s->sched, s->world->scratch, s->clock->now, ASK_WORK, &w->until);
	}
	if (x->spec->now && entrance_ask(s, w, err) < 0)
		return -EPERM;
	if (keep == KEEP_UNKNOWN)
		return 1;
	if (x->spec->rare->libra.estimate && (keep == KEEP_NO || prices_check(s, x->spec, true, done, err) < 0)) {
		if (!s->world->policy.position)
			done = sched_soonest(s->sched, s->world->scratch, s->clock->now, SOON_WORK);
		return refused(w, prices_check(s, x->spec, keep != KEEP_NO, done, err), err);
	}
	if (keep == KEEP_NO)
		return refused(
			w,
			err_code(
				err, CODE_REFUSED,
				"the deadline can't be guaranteed now: ask for less, for a later deadline, or leave out --require-guarantee"),
			err);
	w->until = 0;
	return ++w->asked < w->jobs.n;
}
