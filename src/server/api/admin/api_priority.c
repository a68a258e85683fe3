/*
 * api_priority.c - the priorities of waiting jobs with their parts, and those that other weights
 * would give.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/json.h"
#include "base/keysort.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/job.h"
#include "net/http.h"
#include "rules/priority.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/query.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/clock.h"
#include "server/book/sharing.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/priority.h"
#include "server/life/world/world.h"
#include "server/server.h"
#include "server/site/who.h"

struct part {
	const char *name;
	double value, part;
};

static const struct schema part = {
	FIELDS({"name", .is = REQUIRED | IS_TEXT, MEMBER(struct part, name)},
	       {"value", .is = REQUIRED | IS_REAL, "in the factor's unit", MEMBER_AS(FORM_REAL, struct part, value)},
	       {"part", .is = REQUIRED | IS_REAL, "of a sum what is added, of a product what is multiplied with",
		MEMBER_AS(FORM_REAL, struct part, part)})};

/* Waiting jobs and their places. */
struct ranking {
	VEC(struct keyed) first; /* key: the negated priority; tie: the job */
	uint32_t *tried;	 /* place with other weights, by job; NULL: none are tried */
};

static int settings_try(const struct server *s, const char *text, struct priority_settings *ret, struct err *err)
{
	struct attrs a;
	int rc;

	attrs_copy(&a, s->attrs);
	rc = priority_try(&a, text, err);
	if (rc == 0)
		rc = priority_settings_of(ret, &a, err);
	attrs_fini(&a);
	return rc;
}

static void ranking_make(struct server *s, const struct priority_settings *x, struct ranking *ret)
{
	struct prioritized job;
	struct weighing w;

	vec_clear(&ret->first);
	JOBS_EACH(s, id) {
		if (!entry_get(s, id)->spec || !job_waits(entry_job(s, id)))
			continue;
		job_prioritized(s, id, x, &job);
		priority_weigh(x, &job, s->clock->now, &w);
		vec_push(&ret->first, (struct keyed){-w.priority, id, id});
	}
	keyed_sort(ret->first.v, ret->first.n);
}

static void ranking_try(struct server *s, const struct priority_settings *x, struct ranking *ret)
{
	ranking_make(s, x, ret);
	ret->tried = mem_zalloc(s->jobs->entries.n * sizeof *ret->tried);
	for (size_t i = 0; i < ret->first.n; i++)
		ret->tried[ret->first.v[i].at] = (uint32_t)i + 1;
}

static void job_weigh(struct server *s, const struct priority_settings *x, uint32_t job, struct prioritized *known,
		      struct weighing *ret)
{
	job_prioritized(s, job, x, known);
	/* submitted or requeued within this second: it has not waited yet */
	if (known->rank > (double)s->clock->now)
		known->rank = (double)s->clock->now;
	priority_weigh(x, known, s->clock->now, ret);
}

/* Argument of the getters in this file: the whole, or one of its jobs. */
struct subject {
	struct server *s;
	const struct asker *who;
	/* settings that rank jobs, and settings that are listed */
	const struct priority_settings *now, *shown;
	const struct ranking *list;
	int64_t most;			 /* maximum jobs shown */
	const struct weighing *weighing; /* the job's parts */
};

static void parts_inside(const struct subject *x, struct json *j)
{
	for (int k = 0; k < FACTOR_COUNT; k++)
		if (x->now->weight[k] != 0)
			schema_show(&part, NULL,
				    &(struct part){factor_table[k].name, x->weighing->value[k], x->weighing->part[k]},
				    NULL, j);
}

struct ranked {
	struct subject x;
	const char *id;
	uint32_t user, queue;
	int64_t place, tried;
	double priority;
};

static const struct schema ranked = {
	FIELDS({"id", .is = REQUIRED | IS_TEXT, MEMBER(struct ranked, id)},
	       {"user", .is = REQUIRED | IS_TEXT, MEMBER_AS(FORM_WORD, struct ranked, user)},
	       {"queue", .is = REQUIRED | IS_TEXT, MEMBER_AS(FORM_WORD, struct ranked, queue)},
	       {"place", .is = REQUIRED | IS_INT, "among the jobs that wait, the highest priority being first",
		MEMBER(struct ranked, place)},
	       {"priority", .is = REQUIRED | IS_REAL, MEMBER_AS(FORM_REAL, struct ranked, priority)},
	       {"tried", .is = SPARSE | IS_INT, "its place with the weights in `try`", MEMBER(struct ranked, tried)},
	       {"factors", .is = REQUIRED | IS_LIST, "those that have a weight", .of = &part, .item = IS_OBJECT,
		.inside = parts_inside})};

static void ranked_write(const struct subject *x, size_t i, struct json *j)
{
	uint32_t job = x->list->first.v[i].at;
	const struct spec *p = entry_get(x->s, job)->spec;
	struct strbuf id = {0};
	struct prioritized known;
	struct weighing w;
	struct ranked shown = {
		.x = *x,
		.user = p->owner,
		.queue = p->queue,
		.place = (int64_t)i + 1,
		.tried = x->list->tried ? x->list->tried[job] : 0,
	};

	entry_id(x->s, job, &id);
	job_weigh(x->s, x->now, job, &known, &w);
	shown.id = id.text;
	shown.priority = w.priority;
	shown.x.weighing = &w;
	schema_show(&ranked, NULL, &shown, x->s->words, j);
	strbuf_fini(&id);
}

static void jobs_inside(const struct subject *x, struct json *j)
{
	int64_t left = x->most;

	for (size_t i = 0; i < x->list->first.n && left > 0; i++)
		if (may_see(x->s, x->who, entry_get(x->s, x->list->first.v[i].at)->spec)) {
			ranked_write(x, i, j);
			left--;
		}
}

/* Appends a line of tab-separated values: id, priority, and the part of each factor that has a
 * weight. */
static void row_write(struct server *s, const struct priority_settings *x, uint32_t job, struct strbuf *out)
{
	struct prioritized known;
	struct weighing w;

	job_weigh(s, x, job, &known, &w);
	entry_id(s, job, out);
	strbuf_printf(out, "\t%.15g", w.priority);
	for (int k = 0; k < FACTOR_COUNT; k++)
		if (x->weight[k] != 0)
			strbuf_printf(out, "\t%.15g", w.part[k]);
	strbuf_add(out, "\n", 1);
}

struct factor_shown {
	struct factor_row row;
	int64_t weight, low, high;
};

static const struct schema factor = {FIELDS(
	{"name", .is = REQUIRED | IS_TEXT, MEMBER(struct factor_shown, row.name)},
	{"unit", .is = REQUIRED | IS_TEXT, MEMBER(struct factor_shown, row.unit)},
	{"about", .is = REQUIRED | IS_TEXT, MEMBER(struct factor_shown, row.about)},
	{"weight", .is = REQUIRED | IS_INT, MEMBER(struct factor_shown, weight)},
	{"low", .is = REQUIRED | IS_INT, "the value at which its stage is 0, in a product",
	 MEMBER(struct factor_shown, low)},
	{"high", .is = REQUIRED | IS_INT, "the value at which its stage is 1", MEMBER(struct factor_shown, high)})};

static void factors_inside(const struct subject *x, struct json *j)
{
	for (int i = 0; i < FACTOR_COUNT; i++)
		schema_show(&factor, NULL,
			    &(struct factor_shown){factor_table[i], (int64_t)x->shown->weight[i],
						   (int64_t)x->shown->low[i], (int64_t)x->shown->high[i]},
			    NULL, j);
}

struct priorities {
	struct subject x;
	enum priority_order order;
	int64_t now, waiting;
};

const struct schema priority_answer = {
	FIELDS({"order", .is = REQUIRED | IS_TEXT,
		"what orders the jobs; policy: not their priorities, which are shown as a sum",
		.words = "policy|sum|product", MEMBER_AS(FORM_CHOICE, struct priorities, order)},
	       {"now", .is = REQUIRED | IS_INSTANT, MEMBER(struct priorities, now)},
	       {"factors", .is = REQUIRED | IS_LIST, .of = &factor, .item = IS_OBJECT, .inside = factors_inside},
	       {"waiting", .is = REQUIRED | IS_INT, "jobs that wait and could start, of all users",
		MEMBER(struct priorities, waiting)},
	       {"jobs", .is = REQUIRED | IS_LIST, "the first of them that the user may see", .of = &ranked,
		.item = IS_OBJECT, .inside = jobs_inside})};

static void rows_answer(struct server *s, const struct call *c, const struct priority_settings *x,
			const struct ranking *list, int64_t left)
{
	struct strbuf out = {0};

	for (size_t i = 0; i < list->first.n && left > 0; i++)
		if (may_see(s, c->w, entry_get(s, list->first.v[i].at)->spec)) {
			row_write(s, x, list->first.v[i].at, &out);
			left--;
		}
	http_reply_strbuf(c->r, 200, "text/tab-separated-values", &out);
}

void api_priority(struct server *s, const struct call *c)
{
	const char *accept = request_header(c->r, "Accept");
	const struct priority_settings *x = &s->world->priority;
	const char *try = request_query(c->r, "try");
	int64_t left = query_number(c, "limit", 100);
	struct priority_settings tried;
	struct ranking list = {0};
	struct err err;

	if (try && settings_try(s, try, &tried, &err) < 0) {
		api_refuse(c->r, &err);
		return;
	}
	sharing_rank(s);
	if (try)
		ranking_try(s, &tried, &list);
	ranking_make(s, x, &list);
	if (accept && strncmp(accept, "text/tab-separated-values", 25) == 0)
		rows_answer(s, c, x, &list, left);
	else
		api_show(s, c->r, &priority_answer,
			 &(struct priorities){
				 .x = {s, c->w, x, try ? &tried : x, &list, left, NULL},
				 .order = priority_rules(s) ? x->order : PRIORITY_POLICY,
				 .now = s->clock->now,
				 .waiting = (int64_t)list.first.n,
			 });
	vec_free(&list.first);
	free(list.tried);
}
