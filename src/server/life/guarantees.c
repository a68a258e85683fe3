/*
 * guarantees.c - see guarantees.h.
 */
#include "server/life/guarantees.h"

#include <stddef.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/job.h"
#include "plan/plan.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/job/jobs.h"
#include "server/life/decide.h"
#include "server/server.h"

#define NAMED_MOST 5

static bool waits_guaranteed(const struct server *s, uint32_t id)
{
	const struct job *job = entry_job(s, id);

	return s->jobs->entries.v[id].spec && job->guaranteed && job_waits(job);
}

/* Running jobs that may not have met their deadlines when they would be ended. */
static void ended_find(const struct server *s, int64_t ends, job_vec *ret)
{
	for (uint32_t id = 1; id < s->jobs->entries.n && ends != TIME_NEVER; id++) {
		const struct job *job = entry_job(s, id);
		if (s->jobs->entries.v[id].spec && job->guaranteed && entry_running(s, id) &&
		    job->start + cluster_run(s->cluster, job) > ends)
			vec_push(ret, id);
	}
}

static void broken_find(const struct server *s, guarantees_change change, const void *what, job_vec *ret)
{
	struct forecast *copy = NULL;

	for (uint32_t id = 1; id < s->jobs->entries.n; id++) {
		if (!waits_guaranteed(s, id))
			continue;
		if (!copy) {
			copy = forecast_create(s->sched);
			forecast_pace(copy, 0);
			change(s, copy, what);
			sched_cycle(forecast_sched(copy), s->clock->now);
		}
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

int guarantees_check(struct server *s, guarantees_change change, const void *what, int64_t ends, struct err *err)
{
	job_vec broken = {0};
	int rc = 0;

	if (s->turn->dirty) /* what waits reserves first */
		server_decide(s);
	ended_find(s, ends, &broken);
	broken_find(s, change, what, &broken);
	if (broken.n)
		rc = refuse(s, &broken, err);
	vec_free(&broken);
	return rc;
}
