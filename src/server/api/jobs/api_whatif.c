/*
 * api_whatif.c - predicts when a job would run if it were submitted now.
 *
 * The policy is run forward on a copy of its whole state (sched/forecast.h), in slices (work.h),
 * one request at a time, since a copy is large. The forecast covers at most CYCLES and BUDGET_US; a
 * later start is reported as too far ahead.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/phrase.h"
#include "base/strbuf.h"
#include "base/ticks.h"
#include "base/timetext.h"
#include "core/cluster.h"
#include "net/http.h"
#include "rules/gate.h"
#include "sched/entrance.h"
#include "sched/forecast.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/clock.h"
#include "server/base/tried.h"
#include "server/base/turn.h"
#include "server/base/work.h"
#include "server/book/prices.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/life/enter/submit.h"
#include "server/life/world/block.h"
#include "server/life/world/entrance.h"
#include "server/life/world/shares.h"
#include "server/life/world/world.h"
#include "server/server.h"

#define CYCLES 2000	  /* maximum ends and starts that the forecast covers */
#define BUDGET_US 1000000 /* processor time */
#define PACE 40000	  /* see sched_pace(): a step takes a few milliseconds */
#define ELEMENTS 10000	  /* elements of an array that the forecast covers, at most */

struct whatif_work {
	struct work work;
	struct http_request *r;
	struct submission x;
	struct trial trial;	   /* words and requests interned for it */
	struct err rule;	   /* the rule that would refuse it, if `refused` */
	bool refused;		   /* a rule would refuse it */
	struct forecast *forecast; /* NULL: not begun */
	const struct gate *gate;   /* the forecast's gate */
	uint32_t job;		   /* its number in the forecast */
	struct whatif known;
	int32_t *nodes;
	int64_t asked; /* instant of the request */
	int64_t spent_us;
	size_t cycles;
};

/* The answer. */
struct subject {
	const struct server *s;
	bool possible;
	int16_t guaranteed; /* -1: it has no deadline */
	int64_t start, end, deadline, price, now;
	const char *price_unit, *reason;
	const struct err *rule; /* rule that would refuse it; NULL: none */
	const int32_t *nodes;
	uint32_t nnodes;
	int64_t delay;		  /* seconds; -1: the job may wait */
	const job_vec *displaces; /* jobs it would displace; NULL: the job may wait */
};

static void nodes_inside(const struct subject *x, struct json *j)
{
	for (uint32_t i = 0; i < x->nnodes; i++)
		json_text(j, NULL, names_get(&x->s->cluster->node_names, (uint32_t)x->nodes[i]));
}

static void error_inside(const struct subject *x, struct json *j)
{
	if (x->rule)
		err_json(j, x->rule);
}

static void get_displaced(const struct subject *x, struct value *v)
{
	struct strbuf id = {0};
	struct json j;

	if (!x->displaces)
		return;
	json_init(&j, &v->scratch, false);
	json_open_array(&j, NULL);
	for (size_t i = 0; i < x->displaces->n; i++) {
		strbuf_clear(&id);
		entry_id(x->s, x->displaces->v[i], &id);
		json_text(&j, NULL, id.text);
	}
	json_close_array(&j);
	v->text = strbuf_text(&v->scratch);
	v->kind = VALUE_JSON;
	strbuf_fini(&id);
}

const struct schema whatif_answer = {
	FIELDS({"possible", .is = REQUIRED | IS_BOOL, MEMBER(struct subject, possible)},
	       {"start", .is = REQUIRED | IS_INSTANT | IS_NULL, "of an array that of its first element",
		MEMBER(struct subject, start)},
	       {"end", .is = REQUIRED | IS_INSTANT | IS_NULL, "of an array that of its last element",
		MEMBER(struct subject, end)},
	       {"nodes", .is = REQUIRED | IS_LIST, .item = IS_TEXT, .inside = nodes_inside},
	       {"deadline", .is = IS_INSTANT, MEMBER(struct subject, deadline)},
	       {"guaranteed", .is = REQUIRED | IS_BOOL | IS_NULL, "null without a deadline", .missing = -1,
		MEMBER(struct subject, guaranteed)},
	       {"price", .is = SPARSE | IS_INT, "what a job with an estimate and a deadline costs: unit-seconds",
		.missing = -1, MEMBER(struct subject, price)},
	       {"price_unit", .is = IS_TEXT, .words = CREDIT_UNIT_WORDS, MEMBER(struct subject, price_unit)},
	       {"reason", .is = REQUIRED | IS_TEXT | IS_NULL, "why it is not possible, or start or end are not known",
		MEMBER(struct subject, reason)},
	       {"error", .is = IS_OBJECT, "the same, if a rule would refuse the job: as the answer of `submitJobs`",
		.of = &error_schema, .inside = error_inside},
	       {"displaces", .is = IS_LIST,
		"of an interactive job that starts at once: running jobs that have to make room for it",
		.item = IS_TEXT, .get = get_displaced},
	       {"delay", .is = SPARSE | IS_INT, "... and how many seconds that takes, at most", .missing = -1,
		MEMBER(struct subject, delay)},
	       {"now", .is = REQUIRED | IS_INSTANT, MEMBER(struct subject, now)})};

static const char *reason_of(const struct whatif_work *w, bool unblocked)
{
	if (w->refused)
		return w->rule.text;
	if (w->known.start != TIME_NEVER && (w->known.open || submission_count(&w->x) > ELEMENTS))
		return "its last elements would start later than can be foreseen";
	if (w->known.open)
		return "it would start later than can be foreseen: very many jobs are ahead of it";
	if (!unblocked)
		return "it would be held, or wait for jobs whose end or outcome is not known";
	if (w->known.start != TIME_NEVER)
		return NULL;
	return w->x.spec->deadline != TIME_NEVER
		       ? "it can't be completed by its deadline: jobs that run or have places need the nodes until then"
		       : "the nodes that are up could not hold it even if they were empty";
}

static void answer(struct server *s, struct whatif_work *w)
{
	const struct spec *p = w->x.spec;
	bool all = w->known.last != TIME_NEVER && submission_count(&w->x) <= ELEMENTS;
	int64_t at = w->known.start, end = all ? w->known.last + p->walltime : TIME_NEVER;
	bool unblocked = !gate_blocks(w->gate, w->job);
	struct price price;
	bool priced;

	if (!w->refused && p->rare->libra.estimate && !w->known.open && unblocked &&
	    prices_check(s, p, w->known.guaranteed, end, &w->rule) < 0)
		w->refused = true;
	priced = prices_get(s, p, &price);
	api_show(s, w->r, &whatif_answer,
		 &(struct subject){
			 .s = s,
			 .possible = (at != TIME_NEVER || w->known.open || !unblocked) && !w->refused,
			 .start = at,
			 .end = end,
			 .nodes = w->nodes,
			 .nnodes = at == TIME_NEVER ? 0 : spec_asked(s, p)->nfrags,
			 .deadline = p->deadline,
			 .guaranteed = p->deadline == TIME_NEVER ? -1 : w->known.guaranteed,
			 .price = priced ? price.amount : -1,
			 .price_unit = priced ? credit_unit_name(price.tariff.unit) : NULL,
			 .reason = reason_of(w, unblocked),
			 .rule = w->refused ? &w->rule : NULL,
			 .delay = -1,
			 .now = w->asked,
		 });
}

/* Answers for an interactive job that starts at once or not at all. */
static void answer_now(struct server *s, struct whatif_work *w)
{
	struct entrance e = {.way = ENTRANCE_FULL};
	int64_t at;

	trial_enter(s, &w->trial);
	if (!w->refused && entrance_look(s, w->x.spec, &e, &w->rule) < 0)
		w->refused = true;
	trial_leave(s);
	at = s->clock->now + e.takes;
	api_show(s, w->r, &whatif_answer,
		 &(struct subject){
			 .s = s,
			 .possible = !w->refused,
			 .start = w->refused ? TIME_NEVER : at,
			 .end = w->refused ? TIME_NEVER : at + w->x.spec->walltime,
			 .guaranteed = -1,
			 .price = -1,
			 .reason = w->refused ? w->rule.text : NULL,
			 .rule = w->refused ? &w->rule : NULL,
			 .displaces = &e.victims,
			 .delay = e.takes,
			 .now = s->clock->now,
		 });
	entrance_fini(&e);
}

static void whatif_free(struct server *s, struct whatif_work *w)
{
	if (s->slices->asking == w)
		s->slices->asking = NULL;
	forecast_destroy(w->forecast);
	submission_fini(&w->x);
	trial_end(s, &w->trial, false);
	free(w->nodes);
	free(w);
}

/* Returns how many jobs the forecast covers. */
static uint32_t elements(const struct whatif_work *w)
{
	int64_t count = submission_count(&w->x);

	return count < ELEMENTS ? (uint32_t)count : ELEMENTS;
}

static void begin(struct server *s, struct whatif_work *w)
{
	s->slices->asking = w;
	trial_enter(s, &w->trial);
	shares_choose(s, w->x.spec);
	world_scratch(s, w->x.spec);
	trial_leave(s);
	w->nodes = mem_zalloc((spec_asked(s, w->x.spec)->nfrags + 1) * sizeof *w->nodes);
	w->asked = s->clock->now;
	w->forecast = forecast_create(s->sched);
	forecast_pace(w->forecast, PACE);
	w->job = block_foresee(s, w->forecast, w->x.spec, elements(w), w->x.array.limit, &w->gate);
}

static bool whatif_step(struct server *s, struct work *work)
{
	struct whatif_work *w = (struct whatif_work *)work;
	int64_t began = clock_us(CLOCK_MONOTONIC);

	if (s->slices->asking && s->slices->asking != w) {
		work->waits = true;
		return true;
	}
	if (w->x.spec->now) {
		work->waits = s->turn->undecided;
		if (work->waits)
			return true;
		answer_now(s, w);
		whatif_free(s, w);
		return false;
	}
	if (!w->forecast) {
		begin(s, w);
		return true;
	}
	forecast_whatif(w->forecast, w->job, 1, &w->known, w->nodes);
	w->spent_us += clock_us(CLOCK_MONOTONIC) - began;
	if (w->known.open && ++w->cycles < CYCLES && w->spent_us < BUDGET_US)
		return true;
	answer(s, w);
	whatif_free(s, w);
	return false;
}

static void whatif_stop(struct server *s, struct work *work, const char *why)
{
	struct whatif_work *w = (struct whatif_work *)work;

	http_error(w->r, CODE_UNAVAILABLE, "It could not be foreseen (%s). Try again later.", why);
	whatif_free(s, w);
}

void api_whatif(struct server *s, const struct call *c)
{
	static const struct work_kind kind = {.step = whatif_step, .stop = whatif_stop, .reads = true};
	struct whatif_work *w = mem_zalloc(sizeof *w);
	struct err err;
	json_t *body = api_body(c->r, &err);

	w->r = c->r;
	trial_enter(s, &w->trial);
	if (!body || schema_check_names(&whatif_body, body, &err) < 0 ||
	    submission_read(s, c->w, body, false, request_arena(c->r), &w->x, &err) < 0) {
		trial_leave(s);
		api_refuse(c->r, &err);
		whatif_free(s, w);
	} else {
		w->refused = submit_check(s, c->w, &w->x, request_arena(c->r), &w->rule) < 0;
		trial_leave(s);
		work_add(s, &w->work, &kind);
	}
	json_decref(body);
}
