/*
 * api_priority.c - the priorities of waiting jobs, with what they are made of; and what other weights would make of them.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/keysort.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/job.h"
#include "net/http.h"
#include "rules/priority.h"
#include "server/api/api.h"
#include "server/api/call.h"
#include "server/api/query.h"
#include "server/api/request.h"
#include "server/api/schemas.h"
#include "server/base/clock.h"
#include "server/base/words.h"
#include "server/book/sharing.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/priority.h"
#include "server/life/world.h"
#include "server/server.h"
#include "server/settings/setting.h"
#include "server/site/who.h"

static const struct field part_fields[] = {
	{"name", .is = REQUIRED | IS_TEXT},
	{"value", .is = REQUIRED | IS_REAL, "in the factor's unit"},
	{"part", .is = REQUIRED | IS_REAL, "of a sum what is added, of a product what is multiplied with"},
	{0},
};
static const struct schema part = {.fields = part_fields};
static const struct field ranked_fields[] = {
	{"id", .is = REQUIRED | IS_TEXT},
	{"user", .is = REQUIRED | IS_TEXT},
	{"queue", .is = REQUIRED | IS_TEXT},
	{"place", .is = REQUIRED | IS_INT, "among the jobs that wait, the highest priority being first"},
	{"priority", .is = REQUIRED | IS_REAL},
	{"tried", .is = IS_INT, "its place with the weights in `try`"},
	{"factors", .is = REQUIRED | IS_LIST, "those that have a weight", .of = &part, .item = IS_OBJECT},
	{0},
};
static const struct schema ranked = {.fields = ranked_fields};
static const struct field factor_fields[] = {
	{"name", .is = REQUIRED | IS_TEXT},
	{"unit", .is = REQUIRED | IS_TEXT},
	{"about", .is = REQUIRED | IS_TEXT},
	{"weight", .is = REQUIRED | IS_INT},
	{"low", .is = REQUIRED | IS_INT, "the value at which its stage is 0, in a product"},
	{"high", .is = REQUIRED | IS_INT, "the value at which its stage is 1"},
	{0},
};
static const struct schema factor = {.fields = factor_fields};
static const struct field priority_fields[] = {
	{"order", .is = REQUIRED | IS_TEXT,
	 "what orders the jobs; policy: not their priorities, which are shown as a sum", .words = "policy|sum|product"},
	{"now", .is = REQUIRED | IS_INSTANT},
	{"factors", .is = REQUIRED | IS_LIST, .of = &factor, .item = IS_OBJECT},
	{"waiting", .is = REQUIRED | IS_INT, "jobs that wait and could start, of all users"},
	{"jobs", .is = REQUIRED | IS_LIST, "the first of them that the user may see", .of = &ranked, .item = IS_OBJECT},
	{0},
};
const struct schema priority_answer = {.fields = priority_fields};

/* Jobs that wait, by id, and their places; at first in the order of their ids. */
struct ranking {
	VEC(struct keyed) first; /* key: the priority, its sign changed; tie: the job */
	uint32_t *tried;	 /* by job: its place with other weights; NULL: none are tried */
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
	for (uint32_t id = 1; id < s->jobs->entries.n; id++) {
		if (!s->jobs->entries.v[id].spec || !job_waits(entry_job(s, id)))
			continue;
		job_prioritized(s, id, x, &job);
		priority_weigh(x, &job, s->clock->now, &w);
		vec_push(&ret->first, (struct keyed){-w.priority, id, id});
	}
	keysort(ret->first.v, ret->first.n);
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
	if (known->rank > (double)s->clock->now) /* it came, or came back, within this second: it has not waited yet */
		known->rank = (double)s->clock->now;
	priority_weigh(x, known, s->clock->now, ret);
}

static void ranked_write(struct server *s, const struct priority_settings *x, const struct ranking *r, size_t i,
			 struct json *j)
{
	uint32_t job = r->first.v[i].at;
	const struct spec *p = s->jobs->entries.v[job].spec;
	struct strbuf id = {0};
	struct prioritized known;
	struct weighing w;

	entry_id(s, job, &id);
	job_weigh(s, x, job, &known, &w);
	json_open_object(j, NULL);
	json_text(j, "id", id.text);
	json_text(j, "user", word(s, p->owner));
	json_text(j, "queue", word(s, p->queue));
	json_int(j, "place", (int64_t)i + 1);
	json_double(j, "priority", w.priority);
	if (r->tried)
		json_int(j, "tried", r->tried[job]);
	json_open_array(j, "factors");
	for (int k = 0; k < FACTOR_COUNT; k++) {
		if (x->weight[k] == 0)
			continue;
		json_open_object(j, NULL);
		json_text(j, "name", factor_table[k].name);
		json_double(j, "value", w.value[k]);
		json_double(j, "part", w.part[k]);
		json_close_object(j);
	}
	json_close_array(j);
	json_close_object(j);
	strbuf_fini(&id);
}

/* A line of tab-separated values: its id, its priority, and the part of each factor that has a weight. */
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

static void factors_write(const struct priority_settings *x, struct json *j)
{
	json_open_array(j, "factors");
	for (int i = 0; i < FACTOR_COUNT; i++) {
		json_open_object(j, NULL);
		json_text(j, "name", factor_table[i].name);
		json_text(j, "unit", factor_table[i].unit);
		json_text(j, "about", factor_table[i].about);
		json_int(j, "weight", (int64_t)x->weight[i]);
		json_int(j, "low", (int64_t)x->low[i]);
		json_int(j, "high", (int64_t)x->high[i]);
		json_close_object(j);
	}
	json_close_array(j);
}

static void rows_answer(struct server *s, const struct call *c, const struct priority_settings *x,
			const struct ranking *list, int64_t left)
{
	struct strbuf out = {0};

	for (size_t i = 0; i < list->first.n && left > 0; i++)
		if (may_see(s, c->w, s->jobs->entries.v[list->first.v[i].at].spec)) {
			row_write(s, x, list->first.v[i].at, &out);
			left--;
		}
	http_reply_strbuf(c->r, 200, "text/tab-separated-values", &out);
	strbuf_fini(&out);
}

void api_priority(struct server *s, const struct call *c)
{
	const char *accept = request_header(c->r, "Accept");
	static const char *const order[] = {
		[PRIORITY_POLICY] = "policy", [PRIORITY_SUM] = "sum", [PRIORITY_PRODUCT] = "product"};
	const struct priority_settings *x = &s->world->priority;
	const char *try = request_query(c->r, "try");
	int64_t left = query_number(c, "limit", 100);
	struct priority_settings tried;
	struct ranking list = {0};
	struct strbuf out = {0};
	struct json j;
	struct err err;

	if (try && settings_try(s, try, &tried, &err) < 0) {
		api_refuse(c->r, &err);
		return;
	}
	sharing_rank(s);
	if (try)
		ranking_try(s, &tried, &list);
	ranking_make(s, x, &list);
	if (accept && strncmp(accept, "text/tab-separated-values", 25) == 0) {
		rows_answer(s, c, x, &list, left);
		vec_free(&list.first);
		free(list.tried);
		return;
	}
	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_text(&j, "order", order[priority_rules(s) ? x->order : PRIORITY_POLICY]);
	json_int(&j, "now", s->clock->now);
	factors_write(try ? &tried : x, &j);
	json_int(&j, "waiting", (int64_t)list.first.n);
	json_open_array(&j, "jobs");
	for (size_t i = 0; i < list.first.n && left > 0; i++)
		if (may_see(s, c->w, s->jobs->entries.v[list.first.v[i].at].spec)) {
			ranked_write(s, x, &list, i, &j);
			left--;
		}
	json_close_array(&j);
	json_close_object(&j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
	strbuf_fini(&out);
	vec_free(&list.first);
	free(list.tried);
}
