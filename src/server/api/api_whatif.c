/*
 * api_whatif.c - what would become of a job that were submitted now.
 *
 * The policy is run forward on a copy of everything it knows (sched/forecast.h), in slices (work.h): one question after the other, since a copy is large. It
 * goes as far as CYCLES and BUDGET_US allow; what starts later than that is said to be too far.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/phrase.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "core/cluster.h"
#include "net/http.h"
#include "rules/gate.h"
#include "sched/entrance.h"
#include "sched/forecast.h"
#include "server/api/api.h"
#include "server/api/call.h"
#include "server/api/request.h"
#include "server/api/schemas.h"
#include "server/base/clock.h"
#include "server/base/tried.h"
#include "server/base/turn.h"
#include "server/base/work.h"
#include "server/book/prices.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/life/block.h"
#include "server/life/entrance.h"
#include "server/life/shares.h"
#include "server/life/submit.h"
#include "server/life/world.h"
#include "server/server.h"

#define CYCLES 2000	  /* ends and starts that it looks ahead, at most */
#define BUDGET_US 1000000 /* of processor time */
#define PACE 40000	  /* see sched_pace(): a step takes a few milliseconds */

struct whatif_work {
	struct work work;
	struct http_request *r;
	struct submission x;
	struct trial trial;	   /* what it made the server intern */
	struct err rule;	   /* that would refuse it, */
	bool refused;		   /* ... if there is one */
	struct forecast *forecast; /* NULL: not begun */
	const struct gate *gate;   /* of the forecast */
	struct whatif known;
	int32_t *nodes;
	int64_t asked; /* instant */
	int64_t spent_us;
	size_t cycles;
};

static int64_t monotonic_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static const struct field whatif_fields[] = {
	{"possible", .is = REQUIRED | IS_BOOL},
	{"start", .is = REQUIRED | IS_INSTANT | IS_NULL},
	{"end", .is = REQUIRED | IS_INSTANT | IS_NULL},
	{"nodes", .is = REQUIRED | IS_LIST, .item = IS_TEXT},
	{"deadline", .is = IS_INSTANT},
	{"guaranteed", .is = REQUIRED | IS_BOOL | IS_NULL, "null without a deadline"},
	{"price", .is = IS_INT, "what a job with an estimate and a deadline costs: unit-seconds"},
	{"price_unit", .is = IS_TEXT, .words = CREDIT_UNIT_WORDS},
	{"reason", .is = REQUIRED | IS_TEXT | IS_NULL, "why it is not possible"},
	{"error", .is = IS_OBJECT, "the same, if a rule would refuse the job: as the answer of `submitJobs`",
	 .of = &error_schema},
	{"displaces", .is = IS_LIST,
	 "of an interactive job that starts at once: running jobs that have to make room for it", .item = IS_TEXT},
	{"delay", .is = IS_INT, "... and how many seconds that takes, at most"},
	{"now", .is = REQUIRED | IS_INSTANT},
	{0},
};
const struct schema whatif_answer = {.fields = whatif_fields};

static void rule_json(const struct whatif_work *w, struct json *j)
{
	if (!w->refused)
		return;
	json_open_object(j, "error");
	err_json(j, &w->rule);
	json_close_object(j);
}

static void answer(struct server *s, struct whatif_work *w)
{
	const struct spec *p = w->x.spec;
	uint32_t n = spec_asked(s, p)->nfrags;
	int64_t at = w->known.start;
	bool unblocked = !gate_blocks(w->gate, s->world->scratch);
	struct strbuf out = {0};
	struct price price;
	struct json j;

	if (!w->refused && p->rare->libra.estimate && !w->known.open && unblocked &&
	    prices_check(s, p, w->known.guaranteed, at == TIME_NEVER ? TIME_NEVER : at + p->walltime, &w->rule) < 0)
		w->refused = true;
	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_bool(&j, "possible", (at != TIME_NEVER || w->known.open || !unblocked) && !w->refused);
	if (at != TIME_NEVER) {
		json_int(&j, "start", at);
		json_int(&j, "end", at + p->walltime);
	} else {
		json_text(&j, "start", NULL);
		json_text(&j, "end", NULL);
	}
	json_open_array(&j, "nodes");
	for (uint32_t i = 0; i < n && at != TIME_NEVER; i++)
		json_text(&j, NULL, names_get(&s->cluster->node_names, (uint32_t)w->nodes[i]));
	json_close_array(&j);
	if (p->deadline != TIME_NEVER) {
		json_int(&j, "deadline", p->deadline);
		json_bool(&j, "guaranteed", w->known.guaranteed);
	} else {
		json_text(&j, "guaranteed", NULL);
	}
	if (prices_get(s, p, &price)) {
		json_int(&j, "price", price.amount);
		json_text(&j, "price_unit", credit_unit_name(price.tariff.unit));
	}
	json_text(
		&j, "reason",
		w->refused	? w->rule.text
		: w->known.open ? "it would start later than can be foreseen: very many jobs are ahead of it"
		: !unblocked	? "it would be held, or wait for jobs whose end or outcome is not known"
		: at == TIME_NEVER && p->deadline != TIME_NEVER
			? "it can't be completed by its deadline: jobs that run or have places need the nodes until then"
		: at == TIME_NEVER ? "the nodes that are up could not hold it even if they were empty"
				   : NULL);
	rule_json(w, &j);
	json_int(&j, "now", w->asked);
	json_close_object(&j);
	http_reply_strbuf(w->r, 200, "application/json", &out);
	strbuf_fini(&out);
}

/* An interactive job that starts at once or not at all. */
static void answer_now(struct server *s, struct whatif_work *w)
{
	struct entrance e = {.way = ENTRANCE_FULL};
	struct strbuf out = {0}, id = {0};
	bool possible;
	struct json j;

	trial_enter(s, &w->trial);
	if (!w->refused && entrance_look(s, w->x.spec, &e, &w->rule) < 0)
		w->refused = true;
	trial_leave(s);
	possible = !w->refused;
	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_bool(&j, "possible", possible);
	if (possible) {
		json_int(&j, "start", s->clock->now + e.takes);
		json_int(&j, "end", s->clock->now + e.takes + w->x.spec->walltime);
	} else {
		json_text(&j, "start", NULL);
		json_text(&j, "end", NULL);
	}
	json_open_array(&j, "nodes");
	json_close_array(&j);
	json_text(&j, "guaranteed", NULL);
	json_text(&j, "reason", w->refused ? w->rule.text : NULL);
	rule_json(w, &j);
	json_open_array(&j, "displaces");
	for (size_t i = 0; i < e.victims.n; i++) {
		strbuf_clear(&id);
		entry_id(s, e.victims.v[i], &id);
		json_text(&j, NULL, id.text);
	}
	json_close_array(&j);
	json_int(&j, "delay", e.takes);
	json_int(&j, "now", s->clock->now);
	json_close_object(&j);
	http_reply_strbuf(w->r, 200, "application/json", &out);
	strbuf_fini(&id);
	strbuf_fini(&out);
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
	w->gate = block_foresee(s, w->forecast, w->x.spec);
}

static bool whatif_step(struct server *s, struct work *work)
{
	struct whatif_work *w = (struct whatif_work *)work;
	int64_t began = monotonic_us();

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
	forecast_whatif(w->forecast, s->world->scratch, 1, &w->known, w->nodes);
	w->spent_us += monotonic_us() - began;
	if (w->known.open && ++w->cycles < CYCLES && w->spent_us < BUDGET_US)
		return true;
	answer(s, w);
	whatif_free(s, w);
	return false;
}

static void whatif_pause(struct server *s, struct work *work)
{
}

static void whatif_stop(struct server *s, struct work *work, const char *why)
{
	struct whatif_work *w = (struct whatif_work *)work;

	http_error(w->r, CODE_UNAVAILABLE, "It could not be foreseen (%s). Try again later.", why);
	whatif_free(s, w);
}

void api_whatif(struct server *s, const struct call *c)
{
	static const struct work_kind kind = {whatif_step, whatif_pause, whatif_stop, .reads = true, .lasting = false};
	struct whatif_work *w = mem_zalloc(sizeof *w);
	struct err err;
	json_t *body = api_body(c->r, &err);

	w->r = c->r;
	trial_enter(s, &w->trial);
	if (!body || submission_read(s, c->w, body, false, request_arena(c->r), &w->x, &err) < 0) {
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
