/*
 * walltime.c - changes the walltime of a running job: who may request how much, and the
 * consequences.
 *
 * The owner may shorten it, but not below the time already used, and may extend it as far as the
 * limits of the queue, the limits on CPU-seconds and the account's credits allow, provided that no
 * job with a place in the plan is delayed (sched_may_extend). Operators may always extend it, but
 * need `force` to break guaranteed deadlines.
 *
 * The plan has the new end at once; the hosts are informed after the commit, and again after a
 * restart or after an absence (engine_limit).
 */
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/job.h"
#include "rules/credit.h"
#include "rules/limit.h"
#include "sched/sched.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/post.h"
#include "server/base/turn.h"
#include "server/job/attempt.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/enter/submit.h"
#include "server/life/enter/walltime.h"
#include "server/life/world/decide.h"
#include "server/life/world/guarantees.h"
#include "server/server.h"

/* Returns the seconds that the job has run. */
static int64_t used(const struct server *s, uint32_t id)
{
	const struct outcome *o = entry_get(s, id)->outcome;

	if (entry_job(s, id)->state != STATE_RUNNING || !o || s->clock->boot_us <= o->began_us)
		return 0;
	return (s->clock->boot_us - o->began_us) / 1000000;
}

static int64_t end_with(const struct server *s, uint32_t id, int64_t walltime)
{
	const struct job *job = entry_job(s, id);
	int64_t end = job->start + walltime + s->cluster->settings.tolerance + job->ending;

	return end > s->clock->now ? end : s->clock->now + 1; /* the clock may have been set */
}

static int in_the_way(struct server *s, uint32_t id, int64_t walltime, const struct obstacle *o, struct err *err)
{
	const struct job *job = entry_job(s, id);
	int64_t most = o->until - job->start - s->cluster->settings.tolerance - job->ending;
	char asked[32], text[32], when[64], may[64] = "it can't be extended now";
	struct strbuf other = {0};
	int rc;

	duration_format(walltime, asked, sizeof asked);
	if (most > entry_get(s, id)->spec->walltime)
		snprintf(may, sizeof may, "it can be extended to walltime=%s",
			 duration_format(most, text, sizeof text));
	if (o->job == JOB_NONE) {
		strbuf_puts(&other, "other jobs");
	} else {
		strbuf_puts(&other, "job ");
		entry_id(s, o->job, &other);
		if (entry_job(s, o->job)->guaranteed)
			strbuf_puts(&other, ", whose deadline is guaranteed");
	}
	rc = err_code(err, CODE_REFUSED,
		      "walltime=%s would delay %s (its place is reserved from %s): %s; operators may give more", asked,
		      other.text, instant_format(o->until, when, sizeof when), may);
	strbuf_fini(&other);
	return rc;
}

/* Refuses added time that the job's limits or its account's credits do not allow. Existing usage
 * still counts. */
static int limits_extend(struct server *s, uint32_t id, int64_t walltime, struct err *err)
{
	const struct job *job = entry_job(s, id);
	int64_t added = walltime - job->walltime;
	int64_t cpus = sched_cpus(s->sched, id);
	struct charge paid = cluster_paid_for(s->cluster, job, cpus);
	struct limit_need more = limit_need_of(cluster_job_request(s->cluster, job), cpus, added, &paid, added);
	char asked[32], need[32], left[32];
	struct limit_reached r;

	more.v[LIMIT_JOBS] = more.v[LIMIT_CPUS] = more.v[LIMIT_MEMORY] = 0;
	if (limits_allow_hard(s->limits, job->limits, &more) || !limits_reached(s->limits, job->limits, &more, &r))
		return 0;
	duration_format(walltime, asked, sizeof asked);
	if (r.measure >= LIMIT_CREDIT) {
		struct credit_tariff t = {(enum credit_unit)(r.measure - LIMIT_CREDIT), 100};
		return err_code(
			err, CODE_REFUSED,
			"walltime=%s needs %s more of its account's credits (%s), and %s is available; operators may give more",
			asked, duration_format(credit_price(&t, more.v[r.measure]), need, sizeof need),
			credit_unit_name(t.unit),
			duration_format(r.most > r.used ? credit_price(&t, r.most - r.used) : 0, left, sizeof left));
	}
	return err_code(
		err, CODE_REFUSED,
		"walltime=%s needs %lld more CPU-seconds, and the limit %s leaves %lld (max_cpu_seconds); operators may give more",
		asked, (long long)more.v[r.measure], limit_whose(r.kind),
		(long long)(r.most > r.used ? r.most - r.used : 0));
}

/* Checks an operator's change: everything is allowed except to break a guaranteed deadline by
 * accident. */
static int operator_check(struct server *s, uint32_t id, int64_t walltime, bool force, struct err *err)
{
	struct risk x = {.kind = RISK_EXTEND, .job = id, .until = end_with(s, id, walltime)};

	if (walltime < entry_get(s, id)->spec->walltime)
		return 0;
	if (s->turn->dirty)
		turn_decide(s);
	return entry_running(s, id) ? guarantees_check(s, &x, force, err) : 0;
}

int walltime_check(struct server *s, uint32_t id, const struct asker *w, int64_t walltime, bool force, struct err *err)
{
	const struct spec *p = entry_get(s, id)->spec;
	int64_t run = used(s, id);
	struct obstacle o;
	char text[32];
	int rc;

	if (walltime == p->walltime)
		return 0;
	if (run >= p->walltime + s->cluster->settings.tolerance)
		return err_code(err, CODE_REFUSED, "its walltime is over, and it is being ended");
	if (walltime <= run)
		return err_code(err, CODE_REFUSED,
				"it has run for %s already: its walltime can't be less (qdel ends it)",
				duration_format(run, text, sizeof text));
	if (w->role >= ROLE_OPERATOR)
		return operator_check(s, id, walltime, force, err);
	if (walltime < p->walltime)
		return 0;
	rc = walltime_allowed(s, p, walltime, err);
	if (rc < 0)
		return rc;
	if (s->turn->dirty) /* waiting jobs reserve first */
		turn_decide(s);
	if (!entry_running(s, id))
		return err_code(err, CODE_REFUSED, "it does not run any more");
	rc = limits_extend(s, id, walltime, err);
	if (rc < 0)
		return rc;
	if (!sched_may_extend(s->sched, id, end_with(s, id, walltime), s->clock->now, &o))
		return in_the_way(s, id, walltime, &o, err);
	return 0;
}

const char *walltime_words(int64_t before, int64_t after, struct arena *a)
{
	char x[32], y[32];

	return arena_printf(a, "altered: walltime %s -> %s", duration_format(before, x, sizeof x),
			    duration_format(after, y, sizeof y));
}

void walltime_tell(struct server *s, uint32_t id, uint32_t attempt)
{
	struct signal_order o = {.walltime = entry_get(s, id)->spec->walltime + s->cluster->settings.tolerance};

	attempt_tag(s, id, attempt, o.tag);
	vec_push(&s->post->signals, o);
}

void walltime_changed(struct server *s, uint32_t id)
{
	sched_set_end(s->sched, id, end_with(s, id, entry_get(s, id)->spec->walltime), s->clock->now);
	walltime_tell(s, id, entry_job(s, id)->attempt);
	s->turn->dirty = true;
}
