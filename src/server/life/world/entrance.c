/*
 * entrance.c - see entrance.h.
 */
#include "server/life/world/entrance.h"

#include "base/err.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "core/job.h"
#include "rules/attr.h"
#include "sched/entrance.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/life/world/dispatch.h"
#include "server/life/world/world.h"
#include "server/server.h"

/* Appends ids, "3.pine and 5.pine". */
static void victims_words(const struct server *s, const job_vec *v, struct strbuf *out)
{
	for (size_t i = 0; i < v->n && i < 5; i++) {
		strbuf_puts(out, i == 0 ? "" : i + 1 == v->n ? " and " : ", ");
		entry_id(s, v->v[i], out);
	}
	if (v->n > 5)
		strbuf_printf(out, " and %zu more", v->n - 5);
}

static int refuse(const struct server *s, const struct entrance *e, struct err *err)
{
	struct strbuf who = {0};
	char when[40];
	int rc;

	if (e->job != JOB_NONE)
		entry_id(s, e->job, &who);
	switch (e->way) {
	case ENTRANCE_LIMITED:
		rc = err_code(err, CODE_REFUSED, "it can't start now: a limit on running jobs is reached");
		break;
	case ENTRANCE_GUARANTEED:
		rc = err_code(err, CODE_REFUSED,
			      "it can't start now: if job %.100s made room, a guaranteed deadline would be missed",
			      strbuf_text(&who));
		break;
	case ENTRANCE_UNAVAILABLE:
		rc = e->from == TIME_NEVER
			     ? err_code(err, CODE_REFUSED, "it can't start now: job %.100s can't be stopped for it",
					strbuf_text(&who))
			     : err_code(err, CODE_REFUSED,
					"it can't start now: job %.100s may not be stopped before %s",
					strbuf_text(&who), instant_format(e->from, when, sizeof when));
		break;
	default:
		rc = err_code(
			err, CODE_REFUSED,
			"it can't start now: every place that suits it has a job that is not stopped for it, such as another interactive one");
	}
	strbuf_fini(&who);
	return rc;
}

int entrance_look(struct server *s, const struct spec *p, struct entrance *ret, struct err *err)
{
	*ret = (struct entrance){.way = ENTRANCE_FULL, .job = JOB_NONE};
	if (!attrs_bool(s->attrs, SET_SCHEDULING))
		return err_code(err, CODE_REFUSED,
				"it can't start now: the server starts no jobs (scheduling is False)");
	world_scratch(s, p);
	sched_entrance(s->sched, s->world->scratch, s->clock->now, ret);
	return ret->way > ENTRANCE_DISPLACES ? refuse(s, ret, err) : 0;
}

int entrance_check(struct server *s, const struct submission *x, struct err *err)
{
	struct strbuf who = {0};
	struct entrance e;
	int rc = entrance_look(s, x->spec, &e, err);

	if (rc == 0 && e.way == ENTRANCE_DISPLACES && e.takes > x->displace) {
		victims_words(s, &e.victims, &who);
		rc = err_code(
			err, CODE_WOULD_DISPLACE,
			"no place is free: job%s %.200s would have to be stopped first, which takes up to %lld s%s",
			e.victims.n > 1 ? "s" : "", strbuf_text(&who), (long long)e.takes,
			x->displace >= 0 ? ", longer than was allowed" : "");
	}
	entrance_fini(&e);
	strbuf_fini(&who);
	return rc;
}

void entrance_settle(struct server *s, uint64_t number)
{
	uint32_t id;

	if (entry_find(s, number, -1, &id) && entry_job(s, id)->interactive &&
	    entry_job(s, id)->state <= STATE_ALLOCATED)
		job_end_waiting(s, id, END_NOT_STARTED, &(struct payload){.text = "it could not start at once"});
}
