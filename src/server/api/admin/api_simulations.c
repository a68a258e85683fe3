/*
 * api_simulations.c - simulations of the past under other policies (site/simulator.h): results, and
 * those in progress.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "net/http.h"
#include "rules/attr.h"
#include "sched/policy.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/server.h"
#include "server/site/simulator.h"

/* ---- answers ---- */

static const struct field user_fields[] = {
	{"user", .is = REQUIRED | IS_TEXT},
	{"jobs", .is = REQUIRED | IS_INT},
	{"wait", .is = REQUIRED | IS_REAL, "seconds, mean"},
	{0},
};
static const struct schema user = {.fields = user_fields};
static const struct field refusal_fields[] = {
	{"reason", .is = REQUIRED | IS_TEXT, "of the first of them"},
	{"jobs", .is = REQUIRED | IS_INT},
	{0},
};
static const struct schema refusal = {.fields = refusal_fields};
static const struct field run_fields[] = {
	{"policy", .is = REQUIRED | IS_TEXT},
	{"jobs", .is = REQUIRED | IS_INT, "that ran"},
	{"refused", .is = REQUIRED | IS_INT, "jobs that the nodes or rules of today do not take"},
	{"refusals", .is = REQUIRED | IS_LIST, "why, the first reasons", .of = &refusal, .item = IS_OBJECT},
	{"wait_mean", .is = REQUIRED | IS_REAL, "seconds, as all waits"},
	{"wait_median", .is = REQUIRED | IS_REAL},
	{"wait_p90", .is = REQUIRED | IS_REAL},
	{"wait_p99", .is = REQUIRED | IS_REAL},
	{"wait_max", .is = REQUIRED | IS_REAL},
	{"turnaround_mean", .is = REQUIRED | IS_REAL},
	{"bslow_mean", .is = REQUIRED | IS_REAL, "bounded slowdown, mean"},
	{"utilisation", .is = REQUIRED | IS_REAL, "share of the machine, 0 to 1"},
	{"user_wait_worst", .is = REQUIRED | IS_REAL, "mean wait of the user who waited the longest"},
	{"use", .is = REQUIRED | IS_LIST, "share of the machine, a mean for each sample", .item = IS_REAL},
	{"queue", .is = REQUIRED | IS_LIST, "jobs waiting, a mean for each sample", .item = IS_REAL},
	{"wait_percentiles", .is = REQUIRED | IS_LIST, "0 to 100", .item = IS_INT},
	{"users", .is = REQUIRED | IS_LIST, "those with the most jobs", .of = &user, .item = IS_OBJECT},
	{0},
};
static const struct schema run = {.fields = run_fields};
static const struct schema times = {FIELDS({"begin", .is = REQUIRED | IS_INSTANT, "of the first sample"},
					   {"end", .is = REQUIRED | IS_INSTANT, "of the last one"},
					   {"samples", .is = REQUIRED | IS_INT})};
static const struct schema result = {
	FIELDS({"jobs", .is = REQUIRED | IS_INT, "that were replayed"},
	       {"procs", .is = REQUIRED | IS_INT, "CPUs of the machine"},
	       {"over_time", .is = REQUIRED | IS_OBJECT, .of = &times},
	       {"runs", .is = REQUIRED | IS_LIST, "one for each policy", .of = &run, .item = IS_OBJECT})};

static const struct field head_fields[] = {
	{"id", .is = REQUIRED | IS_INT},
	{"days", .is = REQUIRED | IS_INT, "how far back jobs ended that were replayed"},
	{"policies", .is = REQUIRED | IS_LIST, .item = IS_TEXT},
	{"asked", .is = REQUIRED | IS_INSTANT},
	{"made", .is = REQUIRED | IS_INSTANT | IS_NULL, "when it was computed"},
	{0},
};
static const struct schema head = {.fields = head_fields};
static const struct field whole_fields[] = {{"result", .is = REQUIRED | IS_OBJECT, .of = &result}, {0}};
const struct schema simulation_answer = {.base = &head, .fields = whole_fields};

static const struct field policy_fields[] = {
	{"name", .is = REQUIRED | IS_TEXT},
	{"about", .is = REQUIRED | IS_TEXT},
	{0},
};
static const struct schema policy = {.fields = policy_fields};
const struct schema simulations_answer = {FIELDS(
	{"policy", .is = REQUIRED | IS_TEXT, "that the server has now"},
	{"policies", .is = REQUIRED | IS_LIST, "that can be simulated", .of = &policy, .item = IS_OBJECT},
	{"running", .is = REQUIRED | IS_OBJECT | IS_NULL, .of = &head},
	{"simulations", .is = REQUIRED | IS_LIST, "that are kept, newest first", .of = &head, .item = IS_OBJECT})};

struct given {
	int64_t days;
	const json_t *policies;
	bool again;
};
const struct schema simulation_body = {
	FIELDS({"days", .is = IS_INT | IS_NULL, "replay the jobs that ended in the last N days", .least = 1,
		.most = SIMULATION_DAYS, .otherwise = "30", .missing = 30, MEMBER(struct given, days)},
	       {"policies", .is = REQUIRED | IS_LIST, "to be compared", .item = IS_TEXT, .least = 1,
		.most = SIMULATION_POLICIES, MEMBER(struct given, policies)},
	       {"again", .is = IS_BOOL | IS_NULL, "compute also what was computed within the last hour",
		.otherwise = "false", MEMBER(struct given, again)})};

/* ---- writing ---- */

static json_t *names_list(const char *joined)
{
	json_t *list = json_array();

	for (const char *p = joined; *p; p += strspn(p, ",")) {
		size_t n = strcspn(p, ",");
		json_array_append_new(list, json_stringn(p, n));
		p += n;
	}
	return list;
}

static json_t *head_json(const struct simulated_past *x)
{
	return json_pack("{s:I, s:I, s:o, s:I, s:o}", "id", (json_int_t)x->id, "days", (json_int_t)x->days, "policies",
			 names_list(x->policies), "asked", (json_int_t)x->asked, "made",
			 x->made ? json_integer(x->made) : json_null());
}

/* Copies the members that the schema has; `shunt simulate` prints more. */
static json_t *described(const struct schema *t, const json_t *from)
{
	json_t *o = json_object();

	for (const struct field *f = t->fields; f->name; f++) {
		json_t *v = json_object_get(from, f->name);
		if (v && f->of && json_is_array(v)) {
			json_t *list = json_array(), *x;
			size_t i;
			json_array_foreach(v, i, x) json_array_append_new(list, described(f->of, x));
			json_object_set_new(o, f->name, list);
		} else if (v)
			json_object_set_new(o, f->name, f->of ? described(f->of, v) : json_incref(v));
	}
	return o;
}

static void simulation_reply(struct http_request *r, const struct simulated_past *x)
{
	json_t *o = head_json(x);

	json_object_set_new(o, "result", described(&result, x->result));
	api_answer(r, 200, o);
}

/* ---- requests ---- */

void api_simulations(struct server *s, const struct call *c)
{
	const struct simulated_past *x = simulator_running(s);
	json_t *all = json_array(), *kept = json_array(), *now = x ? head_json(x) : json_null();

	for (int i = 0; i < npolicies; i++)
		json_array_append_new(all,
				      json_pack("{s:s, s:s}", "name", policies[i].name, "about", policies[i].about));
	for (size_t i = 0; (x = simulator_kept(s, i)); i++)
		json_array_append_new(kept, head_json(x));
	api_answer(c->r, 200,
		   json_pack("{s:s, s:o, s:o, s:o}", "policy", attrs_text(s->attrs, SET_POLICY), "policies", all,
			     "running", now, "simulations", kept));
}

void api_simulation(struct server *s, const struct call *c)
{
	const struct simulated_past *x;
	char id[24];

	for (size_t i = 0; (x = simulator_kept(s, i)); i++) {
		snprintf(id, sizeof id, "%llu", (unsigned long long)x->id);
		if (strcmp(id, c->name) == 0) {
			simulation_reply(c->r, x);
			return;
		}
	}
	http_error(c->r, CODE_NOT_FOUND, "Simulation %.20s is not kept.", c->name);
}

static void on_told(void *context, const struct simulated_past *x, const struct err *err)
{
	if (err)
		api_refuse(context, err);
	else
		simulation_reply(context, x);
}

/* Takes each name once, in the order given. */
static int policies_take(const json_t *list, char *ret, size_t size, struct err *err)
{
	const struct policy *taken[SIMULATION_POLICIES];
	struct strbuf out = {0};
	json_t *v;
	size_t i, n = 0;

	json_array_foreach(list, i, v)
	{
		const struct policy *p = policy_find(json_string_value(v));
		size_t k = 0;
		if (!p) {
			strbuf_fini(&out);
			return err_code(err, CODE_BAD_REQUEST,
					"policies: \"%.60s\" is not a policy (GET /v1/simulations lists them)",
					json_string_value(v));
		}
		while (k < n && taken[k] != p)
			k++;
		if (k == n) {
			strbuf_printf(&out, "%s%s", n ? "," : "", p->name);
			taken[n++] = p;
		}
	}
	snprintf(ret, size, "%s", strbuf_text(&out));
	strbuf_fini(&out);
	return 0;
}

void api_simulate(struct server *s, const struct call *c)
{
	struct simulation_wish w;
	struct given x;
	struct err err;

	call_read(c, &x);
	w.days = x.days;
	w.again = x.again;
	if (policies_take(x.policies, w.policies, sizeof w.policies, &err) < 0 ||
	    simulator_ask(s, &w, on_told, c->r, &err) < 0)
		api_refuse(c->r, &err);
}
