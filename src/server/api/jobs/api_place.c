/*
 * api_place.c - moves a waiting job to a place behind another.
 *
 * A forecast decides if that is allowed and which deadlines it breaks: the policy is run forward
 * twice on a copy of its whole state (sched/forecast.h), with the queue as it is and as it would
 * be. This is done in slices (work.h), one request at a time, as far as CYCLES and BUDGET_US allow;
 * for jobs that start later than that, their place in the queue counts. Then the ranks are changed,
 * the last first, so that the order is right even if this is interrupted.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/ticks.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/job.h"
#include "net/http.h"
#include "plan/plan.h"
#include "rules/weigh.h"
#include "sched/forecast.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/clock.h"
#include "server/base/post.h"
#include "server/base/work.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/order.h"
#include "server/server.h"
#include "server/site/who.h"

#define CYCLES 2000	 /* maximum ends and starts that a forecast covers */
#define BUDGET_US 500000 /* processor time for each of the two forecasts */
#define PACE 40000	 /* see sched_pace(): a step takes a few milliseconds */

enum { AS_IT_IS, AS_IT_WOULD_BE, FORECASTS };

struct placing {
	struct work work;
	struct http_request *r;
	struct asker who;
	char *id, *after;
	struct forecast *run; /* forecast in progress, or NULL */
	int at;		      /* index of the current forecast, or FORECASTS */
	size_t cycles;
	int64_t spent_us;
	/* core id -> predicted start, of jobs with deadlines and of the moved job */
	struct map starts[FORECASTS];
	bool complete[FORECASTS];
	VEC(struct rung) changes; /* ranks to set, the last first */
	size_t set;
	struct strbuf warnings; /* JSON texts, joined by commas */
	bool judged;
};

/* Jobs to move and their target; looked up again in each turn. */
struct wish {
	job_vec jobs; /* in their order */
	uint32_t after;
	bool first; /* move it to the front */
};

struct place_wish {
	const json_t *ids;
	const char *after;
};
const struct schema place_body = {
	FIELDS({"ids", .is = REQUIRED | IS_LIST, "a waiting job, or an array", .item = IS_TEXT, .least = 1, .most = 1,
		MEMBER(struct place_wish, ids)},
	       {"after", .is = REQUIRED | IS_TEXT, "the job that it is to be behind; `0`: it is to be the first",
		MEMBER(struct place_wish, after)})};
const struct schema placed_answer = {FIELDS({"results", .is = REQUIRED | IS_LIST, "of the job", .item = IS_OBJECT},
					    {"warnings", .is = REQUIRED | IS_LIST, "sentences", .item = IS_TEXT})};

static bool in_queue(const struct server *s, uint32_t id)
{
	return entry_get(s, id)->spec && entry_job(s, id)->state <= STATE_ALLOCATED;
}

/* ---- the request ---- */

static int moved_find(struct server *s, const struct placing *w, job_vec *ret, struct err *err)
{
	struct array *a = NULL;
	job_vec all = {0};
	int rc = jobs_named(s, w->id, &all, &a, err);

	if (rc == 0 && (all.n == 0 || !may_see(s, &w->who, entry_get(s, all.v[0])->spec)))
		rc = err_code(err, CODE_UNKNOWN_JOB, "There is no job %.100s.", w->id);
	for (size_t i = 0; i < all.n && rc == 0; i++)
		if (entry_get(s, all.v[i])->spec)
			rc = may_do(s, &w->who, ACT_ORDER, entry_get(s, all.v[i])->spec, w->id, err);
	for (size_t i = 0; i < all.n && rc == 0; i++)
		if (in_queue(s, all.v[i]))
			vec_push(ret, all.v[i]);
	if (rc == 0 && ret->n == 0)
		rc = err_code(err, CODE_BAD_STATE, "Job %.100s does not wait any more.", w->id);
	vec_free(&all);
	return rc;
}

/* Finds the job to move behind: of an array the last element. A running job is ahead of all that
 * wait. */
static int after_find(struct server *s, const struct placing *w, struct wish *ret, struct err *err)
{
	struct array *a = NULL;
	uint32_t id;

	ret->first = true;
	if (strcmp(w->after, "0") == 0)
		return 0;
	if (job_seen(s, &w->who, w->after, &id, &a, err) < 0)
		return -ENOENT;
	for (uint32_t i = 0; i < (a ? a->count : 1); i++) {
		uint32_t x = a ? a->first + i : id;
		if (!in_queue(s, x))
			continue;
		if (ret->first || entry_job(s, x)->rank >= entry_job(s, ret->after)->rank)
			ret->after = x;
		ret->first = false;
	}
	for (size_t i = 0; i < ret->jobs.n && !ret->first; i++)
		if (ret->jobs.v[i] == ret->after)
			return err_code(err, CODE_BAD_STATE, "A job can't be moved behind itself.");
	if (ret->first && entry_ended(s, id))
		return err_code(err, CODE_BAD_STATE, "Job %.100s has ended.", w->after);
	return 0;
}

static int wish_find(struct server *s, const struct placing *w, struct wish *ret, struct err *err)
{
	*ret = (struct wish){0};
	int rc = moved_find(s, w, &ret->jobs, err);

	return rc < 0 ? rc : after_find(s, w, ret, err);
}

/* Computes the ranks to change, the last first. */
static void changes_find(const struct server *s, struct placing *w, const struct wish *x)
{
	VEC(struct rung) others = {0}, moved = {0};
	struct map own = {0};
	struct rung after = {0};
	uint64_t at;

	vec_clear(&w->changes);
	for (size_t i = 0; i < x->jobs.n; i++) {
		map_set(&own, x->jobs.v[i], 1);
		vec_push(&moved, (struct rung){.job = x->jobs.v[i]});
	}
	JOBS_EACH(s, id)
		if (in_queue(s, id) && !map_get(&own, id, &at))
			vec_push(&others, (struct rung){.rank = entry_job(s, id)->rank, .job = id});
	if (!x->first)
		after = (struct rung){.rank = entry_job(s, x->after)->rank, .job = x->after};
	if (others.n) {
		size_t pushed = weigh_insert(others.v, others.n, x->first ? NULL : &after, moved.v, moved.n,
					     (double)s->clock->now);
		for (size_t i = pushed; i > 0; i--)
			vec_push(&w->changes, others.v[i - 1]);
		for (size_t i = moved.n; i > 0; i--)
			vec_push(&w->changes, moved.v[i - 1]);
	}
	vec_free(&others);
	vec_free(&moved);
	map_fini(&own);
}

/* ---- forecasts ---- */

static bool told(void *context, const struct foreseen *f)
{
	struct placing *w = context;

	map_set(&w->starts[w->at], f->job, (uint64_t)f->start);
	return true;
}

static void run_begin(struct server *s, struct placing *w, const struct wish *x)
{
	w->run = forecast_create(s->sched);
	forecast_pace(w->run, PACE);
	forecast_gate(w->run, s->gate);
	w->cycles = 0;
	w->spent_us = 0;
	if (w->at == AS_IT_IS)
		return;
	changes_find(s, w, x);
	for (size_t i = 0; i < w->changes.n; i++)
		forecast_rank(w->run, w->changes.v[i].job, w->changes.v[i].rank);
}

/* Runs a step of the forecast; returns true if it is complete. */
static bool run_step(struct placing *w)
{
	int64_t began = clock_us(CLOCK_MONOTONIC);
	bool done = forecast_run(w->run, 1, told, w);

	w->spent_us += clock_us(CLOCK_MONOTONIC) - began;
	if (!done && ++w->cycles < CYCLES && w->spent_us < BUDGET_US)
		return false;
	w->complete[w->at] = done;
	forecast_destroy(w->run);
	w->run = NULL;
	return true;
}

static bool keeps_deadline(const struct server *s, const struct placing *w, int which, uint32_t id)
{
	uint64_t start;

	if (!map_get(&w->starts[which], id, &start))
		return !w->complete[which]; /* beyond the forecast: it may still be met */
	return (int64_t)start + entry_get(s, id)->spec->walltime <= entry_job(s, id)->deadline;
}

static void warnings_find(const struct server *s, struct placing *w)
{
	struct strbuf text = {0};
	struct json j;
	char when[40];
	uint64_t start;

	JOBS_EACH(s, id) {
		if (!in_queue(s, id) || entry_job(s, id)->deadline == TIME_NEVER ||
		    !map_get(&w->starts[AS_IT_IS], id, &start) || !keeps_deadline(s, w, AS_IT_IS, id) ||
		    keeps_deadline(s, w, AS_IT_WOULD_BE, id))
			continue;
		strbuf_clear(&text);
		strbuf_puts(&text, "job ");
		entry_id(s, id, &text);
		strbuf_printf(&text, " is expected to miss its deadline (%s)",
			      instant_format(entry_job(s, id)->deadline, when, sizeof when));
		strbuf_puts(&w->warnings, w->warnings.n ? "," : "");
		json_init(&j, &w->warnings, false);
		json_text(&j, NULL, text.text);
	}
	strbuf_fini(&text);
}

/* Decides if the move is allowed: users may only give way to others. */
static int judge(const struct server *s, struct placing *w, const struct wish *x, struct err *err)
{
	uint32_t first = x->jobs.v[0];
	uint64_t before, after;
	double rank = w->changes.n ? w->changes.v[w->changes.n - 1].rank : entry_job(s, first)->rank;
	char when[40];

	if (w->who.role >= ROLE_OPERATOR) {
		warnings_find(s, w);
		return 0;
	}
	if (rank <= entry_job(s, first)->rank)
		return err_code(err, CODE_REFUSED,
				"Job %.100s would get ahead of others: users can move their jobs only back.", w->id);
	if (map_get(&w->starts[AS_IT_IS], first, &before) && map_get(&w->starts[AS_IT_WOULD_BE], first, &after) &&
	    after <= before)
		return err_code(
			err, CODE_REFUSED,
			"Job %.100s would not start later than it is expected to now (%s): users can move their jobs only to a later start.",
			w->id, instant_format((int64_t)before, when, sizeof when));
	return 0;
}

/* ---- making the move ---- */

static void placing_free(struct server *s, struct placing *w)
{
	if (s->slices->placing == w)
		s->slices->placing = NULL;
	forecast_destroy(w->run);
	for (int i = 0; i < FORECASTS; i++)
		map_fini(&w->starts[i]);
	vec_free(&w->changes);
	strbuf_fini(&w->warnings);
	free(w->id);
	free(w->after);
	free(w);
}

static void answer(struct server *s, struct placing *w)
{
	struct strbuf out = {0};
	struct json j;

	json_begin(&j, &out);
	json_open_array(&j, "results");
	json_open_object(&j, NULL);
	json_text(&j, "id", w->id);
	json_close_object(&j);
	json_close_array(&j);
	json_open_array(&j, "warnings");
	if (w->warnings.n)
		json_raw(&j, NULL, w->warnings.text);
	json_close_array(&j);
	json_close_object(&j);
	reply_later(s, w->r, 200, &out);
}

static void change_make(struct server *s, const struct placing *w, const struct rung *x)
{
	struct strbuf text = {0};

	if (!in_queue(s, x->job))
		return;
	if (strcmp(w->after, "0") == 0)
		strbuf_puts(&text, "moved to the front");
	else
		strbuf_printf(&text, "moved behind job %s", w->after);
	rank_note(s, x->job, x->rank, text.text, w->who.user);
	strbuf_fini(&text);
}

static bool refused(struct server *s, struct placing *w, const struct err *err)
{
	api_refuse(w->r, err);
	placing_free(s, w);
	return false;
}

/* Returns true if a waiting job has a deadline; otherwise operators need no forecast. */
static bool deadlines_wait(const struct server *s)
{
	JOBS_EACH(s, id)
		if (in_queue(s, id) && entry_job(s, id)->deadline != TIME_NEVER)
			return true;
	return false;
}

static int judge_step(struct server *s, struct placing *w, struct err *err)
{
	struct wish x;
	int rc = wish_find(s, w, &x, err);

	if (rc == 0 && w->at == 0 && !w->run && w->who.role >= ROLE_OPERATOR && !deadlines_wait(s))
		w->at = FORECASTS;
	if (rc == 0 && w->at < FORECASTS && !w->run) {
		run_begin(s, w, &x);
	} else if (rc == 0 && w->at < FORECASTS) {
		w->at += run_step(w);
	} else if (rc == 0) {
		changes_find(s, w, &x);
		rc = judge(s, w, &x, err);
		w->judged = rc == 0;
	}
	vec_free(&x.jobs);
	return rc;
}

static bool placing_step(struct server *s, struct work *work)
{
	struct placing *w = (struct placing *)work;
	struct err err;

	if (s->slices->accepted || (s->slices->placing && s->slices->placing != w)) {
		work->waits = true;
		return true;
	}
	s->slices->placing = w;
	if (!w->judged)
		return judge_step(s, w, &err) == 0 || refused(s, w, &err);
	if (w->set < w->changes.n) {
		change_make(s, w, &w->changes.v[w->set++]);
		return true;
	}
	answer(s, w);
	placing_free(s, w);
	return false;
}

static void placing_stop(struct server *s, struct work *work, const char *why)
{
	struct placing *w = (struct placing *)work;

	http_error(w->r, w->set ? CODE_OUTCOME_UNKNOWN : CODE_UNAVAILABLE,
		   "The job was not moved (%s). Try again later.", why);
	placing_free(s, w);
}

void api_place(struct server *s, const struct call *c)
{
	static const struct work_kind kind = {.step = placing_step, .stop = placing_stop};
	struct placing *w = mem_zalloc(sizeof *w);
	struct place_wish x;

	call_read(c, &x);
	w->r = c->r;
	w->who = *c->w;
	w->id = mem_strdup(json_string_value(json_array_get(x.ids, 0)));
	w->after = mem_strdup(x.after);
	work_add(s, &w->work, &kind);
}
