/*
 * test_grounds.c - every reason for which a waiting job does not start: with all of them gone it starts, with all but one it does not.
 *
 * A small site with running, waiting and promised jobs and all kinds of blocks is made from a seed, as often as there are reasons: each time another
 * one is left. SHUNT_SEED=n shows one, SHUNT_CASES=n tries that many.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "engine/engine.h"
#include "run/order.h"
#include "server/job/jobs.h"
#include "server/life/amounts.h"
#include "server/life/dispatch.h"
#include "server/loop.h"
#include "server/server.h"
#include "support/bare.h"
#include "support/site.h"

#define NOW INT64_C(1800000000)
#define CASES 200

#define LICENCES 4
#define LICENCES_TEXT "4"

struct scene {
	struct site *f;
	struct rng rng;
	struct rng extra, later; /* for what came later: seeds mean what they meant before */
	bool licensed;		 /* the site has licences */
	char subject[32];	 /* the job that is asked about */
	bool loud;
};

static unsigned seen[32]; /* how often each code was named */
static unsigned paid;	  /* ... and credits, among limits */
static const char *const codes[] = {"hold_user",  "hold_other", "hold_system", "time",	    "depend",	   "queue",
				    "scheduling", "limit",	"short",       "scattered", "whole",	   "reserved",
				    "nodes",	  "booked",	"order",       "amount",    "reservation", NULL};

static bool later_one_in(struct scene *x, uint64_t n)
{
	return rng_below(&x->later, n) == 0;
}

static bool one_in(struct scene *x, uint64_t n)
{
	return rng_below(&x->rng, n) == 0;
}

__attribute__((format(printf, 4, 5))) static int ask(struct scene *x, const char *method, const char *path,
						     const char *fmt, ...)
{
	char body[1000];
	va_list ap;
	int status;

	va_start(ap, fmt);
	vsnprintf(body, sizeof body, fmt, ap);
	va_end(ap);
	status = site_ask(x->f, getuid(), method, path, *body ? body : NULL);
	if (x->loud)
		printf("# %s %s %s: %d%s%s\n", method, path, body, status, status >= 400 ? " " : "",
		       status >= 400 ? strbuf_text(&x->f->a.body) : "");
	return status;
}

static void set(struct scene *x, const char *path, const char *name, const char *value)
{
	ask(x, "PATCH", path, "{\"changes\":[{\"op\":\"%s\",\"name\":\"%s\",\"value\":\"%s\"}]}",
	    *value ? "set" : "unset", name, value);
}

/* All that was ordered has started. */
static void settle(struct scene *x)
{
	const struct bare_attempt *all;
	size_t n;

	server_turn(x->f->s);
	n = bare_attempts(&all);
	for (size_t i = 0; i < n; i++) {
		char tag[64];
		if (all[i].started)
			continue;
		snprintf(tag, sizeof tag, "%s", all[i].tag);
		bare_started(x->f->s, tag);
		n = bare_attempts(&all);
	}
	server_turn(x->f->s);
}

/* What a job asks for, at random. */
static void some_request(struct scene *x, char *ret, size_t size)
{
	static const char *const forms[] = {"ncpus=%d", "nodes=1:ppn=%d", "nodes=2:ppn=%d", "nodes=3:ppn=%d",
					    "nodes=1:fast:ppn=%d"};
	char nodes[60];
	int cpus = (int)rng_range(&x->rng, 1, 4);

	snprintf(nodes, sizeof nodes, forms[rng_below(&x->rng, 5)], cpus); /* NOLINT */
	snprintf(ret, size, "\"%s\",\"walltime=%d\"", nodes, (int)rng_range(&x->rng, 1, 10) * 600);
	if (x->licensed && rng_below(&x->extra, 3))
		snprintf(ret + strlen(ret), size - strlen(ret), ",\"matlab=%d\"", (int)rng_range(&x->extra, 1, 3));
	if (later_one_in(x, 4))
		snprintf(ret + strlen(ret), size - strlen(ret), ",\"%s=%dgb\"",
			 (const char *[]){"disk", "swap", "mem"}[rng_below(&x->later, 3)],
			 (int)rng_range(&x->later, 1, 7));
}

static void submit(struct scene *x, const char *more)
{
	char request[120];

	some_request(x, request, sizeof request);
	ask(x, "POST", "/v1/jobs", "{\"script\":\"true\",\"resources\":[%s]%s}", request, more);
}

static void some_jobs(struct scene *x, int n)
{
	for (int i = 0; i < n; i++) {
		submit(x, one_in(x, 12)	 ? ",\"deadline\":1800010800,\"type\":\"Q\""
			  : one_in(x, 3) ? ",\"account\":\"a\""
					 : "");
		if (one_in(x, 2))
			settle(x);
	}
	settle(x);
}

static const char *value_of(struct scene *x, char *buf, size_t size)
{
	snprintf(buf, size, "%d", (int)rng_range(&x->rng, 0, 3));
	return buf;
}

static void some_limits(struct scene *x)
{
	char v[8];

	if (one_in(x, 5))
		set(x, "/v1/server", "max_running", value_of(x, v, sizeof v));
	if (one_in(x, 6))
		set(x, "/v1/server", "max_user_run", value_of(x, v, sizeof v));
	if (one_in(x, 5))
		set(x, "/v1/queues/side", "max_running", value_of(x, v, sizeof v));
	if (one_in(x, 6))
		set(x, "/v1/queues/side", "max_user_run", value_of(x, v, sizeof v));
	if (one_in(x, 5))
		set(x, "/v1/accounts/a", "max_cpus", value_of(x, v, sizeof v));
	if (one_in(x, 6))
		set(x, "/v1/accounts/top", "max_running", value_of(x, v, sizeof v));
}

/* Limits of people and QoS, and accounts that pay. */
static void some_more_limits(struct scene *x)
{
	static const char *const limits[] = {"max_running", "max_cpus", "max_memory", "max_cpu_seconds"};
	static const char *const of[] = {"/v1/qos/q", "/v1/users/root", "/v1/groups/root", "/v1/accounts/top"};
	static const int unit[] = {1, 2, 0, 3600};

	for (int i = 0; i < 4; i++) {
		int which = (int)rng_below(&x->later, 4), n = (int)rng_range(&x->later, 0, 3);
		char v[16];
		snprintf(v, sizeof v, unit[which] ? "%d" : "%dgb", n * (unit[which] ? unit[which] : 3)); /* NOLINT */
		if (later_one_in(x, 6))
			set(x, of[i], limits[which], v);
	}
	for (int i = 0; i < 2; i++) {
		char path[40];
		snprintf(path, sizeof path, "/v1/accounts/%s", i ? "a" : "top");
		if (!later_one_in(x, 5))
			continue;
		set(x, path, "credit_unit", later_one_in(x, 3) ? "node_hours" : "cpu_hours");
		ask(x, "POST", "/v1/credits", "{\"op\":\"deposit\",\"account\":\"%s\",\"amount\":%d}", path + 13,
		    (int)rng_range(&x->later, 1, 8) * 1000);
	}
}

/* One that admits nobody, now or soon; or one that a QoS is bound to. */
static void some_reservations(struct scene *x)
{
	bool binds = later_one_in(x, 2);
	time_t at = NOW + 60 * rng_range(&x->later, binds ? 1 : -40, 40);
	char start[40];

	if (!later_one_in(x, 3))
		return;
	strftime(start, sizeof start, "%Y-%m-%dT%H:%M", localtime(&at));
	ask(x, "PUT", "/v1/reservations/exam", "{}");
	ask(x, "PATCH", "/v1/reservations/exam",
	    "{\"changes\":[{\"op\":\"set\",\"name\":\"nodes\",\"value\":\"%s\"},{\"op\":\"set\",\"name\":\"start\",\"value\":\"%s\"},"
	    "{\"op\":\"set\",\"name\":\"duration\",\"value\":\"%d\"},{\"op\":\"set\",\"name\":\"acl_users\",\"value\":\"%s\"},"
	    "{\"op\":\"set\",\"name\":\"ignore_jobs\",\"value\":\"True\"},{\"op\":\"set\",\"name\":\"breaks_deadlines\",\"value\":\"True\"}]}",
	    (const char *[]){"n1", "n[2-3]", "n[1-3]"}[rng_below(&x->later, 3)], start,
	    (int)rng_range(&x->later, 1, 5) * 3600, binds ? "root" : "nobody");
	if (binds)
		set(x, "/v1/qos/q", "reservation", "exam");
}

static void some_nodes(struct scene *x)
{
	if (one_in(x, 4))
		ask(x, "PATCH", "/v1/nodes/n3", "{\"offline\":true}");
	if (one_in(x, 6))
		ask(x, "PATCH", "/v1/nodes/n1", "{\"offline\":true}");
	if (one_in(x, 6))
		ask(x, "PATCH", "/v1/nodes/n2", "{\"drain_at\":%lld}", (long long)NOW + rng_range(&x->rng, 5, 60) * 60);
}

/* The job that is asked about: an element of an array, one that depends on others, ... */
static void subject_submit(struct scene *x)
{
	char more[300] = "", id[20];
	bool array = one_in(x, 6);

	if (array)
		strcat(more, ",\"array\":\"1-3%1\"");
	if (one_in(x, 3))
		strcat(more, ",\"queue\":\"side\"");
	if (one_in(x, 3))
		strcat(more, ",\"account\":\"a\"");
	if (one_in(x, 6))
		strcat(more, ",\"at\":1800007200");
	if (one_in(x, 6))
		snprintf(more + strlen(more), sizeof more - strlen(more), ",\"depend\":\"afterany:%d%s\"",
			 (int)rng_range(&x->rng, 1, 3), one_in(x, 2) ? ",afterany:4" : "");
	if (later_one_in(x, 2))
		strcat(more, ",\"qos\":\"q\"");
	submit(x, more);
	const char *p = strstr(strbuf_text(&x->f->a.body), "\"id\":\"");
	snprintf(id, sizeof id, "%d", p ? atoi(p + 6) : 1);
	snprintf(x->subject, sizeof x->subject, array ? "%s[2]" : "%s", id); /* NOLINT */
	settle(x);
}

static void hold(struct scene *x, const char *id, const char *holds)
{
	ask(x, "POST", "/v1/jobs/hold", "{\"ids\":[\"%s\"],\"holds\":\"%s\"}", id, holds);
}

/* So many licences are in use outside the cluster. */
static void elsewhere(struct scene *x, int n)
{
	char report[32];
	struct err err;

	snprintf(report, sizeof report, "matlab " LICENCES_TEXT " %d\n", n);
	assert_int_equal(amounts_reported(x->f->s, report, strlen(report), &err), 0);
	if (x->loud)
		printf("# %s", report);
}

/* The site of a seed: the same each time. */
static void world(struct scene *x, uint64_t seed)
{
	static const char *const policy[] = {"easy", "fcfs", "conservative", "shunt", "oscar", "shortest", "easy"};
	size_t which;

	rng_seed(&x->rng, seed);
	site_setup((void **)&x->f, "n1:cpus=4:mem=8gb:disk=8gb:swap=8gb n[2-3]:cpus=4:mem=8gb:disk=8gb:swap=8gb:fast",
		   NOW);
	which = rng_below(&x->rng, 7);
	set(x, "/v1/server", "policy", policy[which]);
	rng_seed(&x->extra, rng_seed_of(seed, 1));
	rng_seed(&x->later, rng_seed_of(seed, 2));
	x->licensed = rng_below(&x->extra, 2);
	if (x->licensed)
		set(x, "/v1/server", "resources_available.matlab", LICENCES_TEXT);
	if (which == 6)
		set(x, "/v1/server", "priority_order", "sum");
	ask(x, "PUT", "/v1/queues/side", "{}");
	set(x, "/v1/queues/side", "enabled", "True");
	set(x, "/v1/queues/side", "started", "True");
	ask(x, "PUT", "/v1/accounts/top", "{}");
	ask(x, "PUT", "/v1/accounts/a", "{}");
	set(x, "/v1/accounts/a", "parent", "top");
	ask(x, "PUT", "/v1/qos/q", "{}");
	ask(x, "PUT", "/v1/users/root", "{}");
	ask(x, "PUT", "/v1/groups/root", "{}");
	some_jobs(x, (int)rng_range(&x->rng, 4, 8));
	if (one_in(x, 2))
		some_limits(x);
	some_nodes(x);
	some_reservations(x);
	if (later_one_in(x, 2))
		some_more_limits(x);
	if (one_in(x, 2))
		some_jobs(x, (int)rng_range(&x->rng, 1, 4));
	subject_submit(x);
	if (one_in(x, 2))
		some_limits(x);
	if (one_in(x, 5))
		set(x, "/v1/queues/side", "started", "False");
	for (const char *h = "uos"; *h; h++)
		if (one_in(x, 8))
			hold(x, x->subject, (char[]){*h, '\0'});
	if (one_in(x, 2))
		some_jobs(x, (int)rng_range(&x->rng, 1, 3));
	if (x->licensed && rng_below(&x->extra, 3) == 0)
		elsewhere(x, (int)rng_below(&x->extra, LICENCES + 1));
	if (one_in(x, 8))
		set(x, "/v1/server", "scheduling", "False");
	settle(x);
}

/* ---- taking reasons away ---- */

/* The tag of an attempt: "12-x5f3a9c01.1", of an element "12-3-x5f3a9c01.1". */
static bool is_tag_of(const char *tag, const char *id)
{
	int number = atoi(id), tag_number = atoi(tag), k = -1, tag_k = -1;

	sscanf(id, "%*d[%d]", &k);
	sscanf(tag, "%*d-%d", &tag_k);
	return number == tag_number && k == tag_k;
}

static void end_job(struct scene *x, const char *id)
{
	const struct bare_attempt *all;
	size_t n = bare_attempts(&all);
	char tag[64];

	for (size_t i = 0; i < n; i++)
		if (is_tag_of(all[i].tag, id)) {
			snprintf(tag, sizeof tag, "%s", all[i].tag);
			bare_forget(tag);
			struct result r = {.tag = tag,
					   .how = RESULT_EXITED,
					   .started_us = NOW * 1000000,
					   .ended_us = NOW * 1000000};
			dispatch_engine.attempt_ended(x->f->s, &r);
			server_turn(x->f->s);
			return;
		}
	ask(x, "POST", "/v1/jobs/delete", "{\"ids\":[\"%s\"]}", id);
}

static void others_hold(struct scene *x)
{
	json_t *list, *job;
	size_t i;

	ask(x, "GET", "/v1/jobs?completed=0&arrays=expand", "%s", "");
	list = json_loads(strbuf_text(&x->f->a.body), 0, NULL);
	json_array_foreach(json_object_get(list, "jobs"), i, job)
	{
		const char *id = json_string_value(json_object_get(job, "id"));
		size_t n = strlen(x->subject);
		if (strncmp(id, x->subject, n) == 0 && id[n] == '.')
			continue;
		if (strcmp(json_string_value(json_object_get(job, "state")), "Q") == 0 &&
		    strcmp(json_string_value(json_object_get(job, "substate")), "allocated") != 0)
			hold(x, id, "o");
	}
	json_decref(list);
}

static void limit_lift(struct scene *x, const json_t *r)
{
	const json_t *limit = json_object_get(r, "limit");
	const char *of = json_string_value(json_object_get(limit, "of")),
		   *name = json_string_value(json_object_get(limit, "name")),
		   *measure = json_string_value(json_object_get(limit, "measure"));
	const char *attr = strcmp(measure, "cpus") == 0		 ? "max_cpus"
			   : strcmp(measure, "memory") == 0	 ? "max_memory"
			   : strcmp(measure, "cpu_seconds") == 0 ? "max_cpu_seconds"
								 : "max_running";
	char path[60];

	if (strstr(measure, "_credits")) {
		ask(x, "POST", "/v1/credits", "{\"op\":\"deposit\",\"account\":\"%s\",\"amount\":10000000}", name);
		return;
	}
	if (strcmp(of, "array") == 0) {
		ask(x, "POST", "/v1/jobs/alter", "{\"ids\":[\"%d[]\"],\"max_run_subjobs\":0}", atoi(x->subject));
	} else if (strcmp(of, "server") == 0 || strcmp(of, "users") == 0) {
		set(x, "/v1/server", *of == 'u' ? "max_user_run" : attr, "");
	} else {
		snprintf(path, sizeof path, "/v1/%s%s/%s", strcmp(of, "queue_users") == 0 ? "queue" : of,
			 strcmp(of, "qos") == 0 ? "" : "s", name);
		set(x, path, strcmp(of, "queue_users") == 0 ? "max_user_run" : attr, "");
	}
}

/* What it depends on from now on: the one relation that is left, or nothing. */
static void depend_leave(struct scene *x, const json_t *left)
{
	const char *text = left ? json_string_value(json_object_get(left, "text")) : "";

	ask(x, "POST", "/v1/jobs/alter", "{\"ids\":[\"%s\"],\"depend\":\"%.*s\"}", x->subject,
	    left ? (int)(strstr(text, ": ") - text) : 0, text);
}

static void take_away(struct scene *x, const json_t *r)
{
	const char *code = json_string_value(json_object_get(r, "code"));
	const json_t *one;
	size_t i;

	if (strncmp(code, "hold_", 5) == 0) {
		ask(x, "POST", "/v1/jobs/release", "{\"ids\":[\"%s\"],\"holds\":\"%c\"}", x->subject, code[5]);
	} else if (strcmp(code, "time") == 0) {
		ask(x, "POST", "/v1/jobs/alter", "{\"ids\":[\"%s\"],\"at\":0}", x->subject);
	} else if (strcmp(code, "queue") == 0) {
		set(x, "/v1/queues/side", "started", "True");
	} else if (strcmp(code, "limit") == 0) {
		limit_lift(x, r);
	} else if (strcmp(code, "nodes") == 0) {
		json_array_foreach(json_object_get(r, "nodes"), i, one)
		{
			char path[60];
			snprintf(path, sizeof path, "/v1/nodes/%s", json_string_value(one));
			ask(x, "PATCH", path, "{\"offline\":false}");
		}
	} else if (strcmp(code, "booked") == 0) {
		json_array_foreach(json_object_get(r, "nodes"), i, one)
		{
			char path[60];
			snprintf(path, sizeof path, "/v1/nodes/%s", json_string_value(one));
			ask(x, "PATCH", path, "{\"drain_at\":null}");
		}
	} else if (strcmp(code, "reservation") == 0) {
		set(x, "/v1/qos/q", "reservation", "");
		ask(x, "DELETE", "/v1/reservations/exam", "%s", "");
	} else if (strcmp(code, "order") == 0) {
		others_hold(x);
	} else if (strcmp(code, "amount") == 0 && json_array_size(json_object_get(r, "jobs")) == 0) {
		int needed = LICENCES;
		sscanf(json_string_value(json_object_get(r, "text")), "it needs %d", &needed);
		elsewhere(x, LICENCES - needed);
	} else if (strcmp(code, "depend") != 0 && strcmp(code, "scheduling") != 0) {
		json_array_foreach(json_object_get(r, "jobs"), i, one) end_job(x, json_string_value(one));
	}
}

static json_t *reasons_of(struct scene *x)
{
	char path[60];
	json_t *why;

	snprintf(path, sizeof path, "/v1/jobs/%s/why", x->subject);
	if (ask(x, "GET", path, "%s", "") != 200)
		return NULL;
	why = json_loads(strbuf_text(&x->f->a.body), 0, NULL);
	if (x->loud)
		printf("# %s\n", strbuf_text(&x->f->a.body));
	json_t *all = json_object_get(why, "reasons"), *list = json_array(), *r;
	size_t i;

	json_array_foreach(all, i, r) if (!json_is_true(json_object_get(r, "implied"))) json_array_append(list, r);
	json_decref(why);
	return list;
}

static char state_of(struct scene *x)
{
	char path[60];
	const char *p;

	snprintf(path, sizeof path, "/v1/jobs/%s", x->subject);
	ask(x, "GET", path, "%s", "");
	p = strstr(strbuf_text(&x->f->a.body), "\"state\":\"");
	return p ? p[9] : '?';
}

static bool is_code(const json_t *r, const char *code)
{
	return strcmp(json_string_value(json_object_get(r, "code")), code) == 0;
}

/* Nothing is decided meanwhile; `left`: the one that stays, or NULL. Whether it runs then. */
static bool starts_without(struct scene *x, const json_t *reasons, const json_t *left)
{
	bool depends = false;
	const json_t *r;
	size_t i;

	set(x, "/v1/server", "scheduling", "False");
	json_array_foreach(reasons, i, r)
	{
		depends |= is_code(r, "depend");
		if (r != left)
			take_away(x, r);
	}
	if (depends)
		depend_leave(x, left && is_code(left, "depend") ? left : NULL);
	if (!left || !is_code(left, "scheduling"))
		set(x, "/v1/server", "scheduling", "True");
	settle(x);
	settle(x);
	return strchr("REC", state_of(x)) != NULL;
}

static void count(const json_t *reasons)
{
	const json_t *r;
	size_t i;

	json_array_foreach(reasons, i, r)
	{
		const char *measure = json_string_value(json_object_get(json_object_get(r, "limit"), "measure"));
		paid += measure && strstr(measure, "_credits");
		for (int k = 0; codes[k]; k++)
			seen[k] += is_code(r, codes[k]);
	}
}

/* Whether it was a case: a job that waits. */
static bool one_case(uint64_t seed, bool loud, int *wrong)
{
	struct scene x = {.loud = loud};
	json_t *reasons = NULL;
	size_t n = 0;
	bool waits;

	for (size_t left = 0; left <= n; left++) {
		world(&x, seed);
		if (left == 0) {
			waits = strchr("QHW", state_of(&x)) != NULL;
			reasons = waits ? reasons_of(&x) : NULL;
			n = json_array_size(reasons);
			count(reasons);
			if (waits && n == 0) {
				printf("# seed %llu: it waits without a reason\n", (unsigned long long)seed);
				++*wrong;
			}
		}
		if (n > 0) {
			const json_t *stays = left ? json_array_get(reasons, left - 1) : NULL;
			if (starts_without(&x, reasons, stays) != (left == 0)) {
				char *text = json_dumps(stays ? stays : reasons, JSON_COMPACT);
				printf("# seed %llu: %s %s\n", (unsigned long long)seed,
				       stays ? "it starts although one is left:" : "it does not start without", text);
				free(text);
				++*wrong;
				left = n;
			}
		}
		site_teardown((void **)&x.f);
	}
	json_decref(reasons);
	return n > 0;
}

static void every_reason(void **state)
{
	const char *seed = getenv("SHUNT_SEED"), *many = getenv("SHUNT_CASES");
	int wrong = 0, cases = 0, most = many ? atoi(many) : CASES;

	if (seed)
		one_case(strtoull(seed, NULL, 10), true, &wrong);
	for (uint64_t i = 1; !seed && cases < most; i++)
		cases += one_case(i, false, &wrong);
	for (int k = 0; codes[k] && !seed; k++)
		printf("# %s: %u\n", codes[k], seen[k]);
	printf("# %d jobs, %u without credits, %d wrong\n", cases, paid, wrong);
	assert_int_equal(wrong, 0);
}

/* As where a submission was refused: the history is asked, beside the loop. */
static void no_such_job(void **state)
{
	struct scene x = {0};

	world(&x, 1);
	snprintf(x.subject, sizeof x.subject, "99[2]");
	assert_int_equal(state_of(&x), '?');
	assert_int_equal(x.f->a.status, 404);
	site_teardown((void **)&x.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(no_such_job), cmocka_unit_test(every_reason)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
