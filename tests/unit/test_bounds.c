/*
 * test_bounds.c - what one request of a plain user may cost: memory that stays, and work that
 * multiplies two sizes which the user gives.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "core/spec.h"
#include "rules/gate.h"
#include "server/api/frame/audience.h"
#include "server/job/jobs.h"
#include "server/loop.h"
#include "server/server.h"
#include "server/settings/templates.h"
#include "support/bare.h"
#include "support/site.h"

#define USER 65534
#define LEVELS 14
#define WIDE 6

static int setup(void **state)
{
	return site_setup(state, "n[1-4]:cpus=8:mem=8gb", 0);
}

/* Submits a held job with more members; returns its number, 0: it was refused. */
static unsigned submit(struct site *f, const char *more)
{
	struct strbuf body = {0};
	unsigned number = 0;

	strbuf_printf(&body, "{\"script\":\"true\",\"hold\":\"u\"%s%s}", *more ? "," : "", more);
	if (site_ask(f, USER, "POST", "/v1/jobs", body.text) == 201)
		sscanf(strstr(f->a.body.text, "\"id\":\"") + 6, "%u", &number);
	strbuf_fini(&body);
	return number;
}

static unsigned submit_after(struct site *f, const char *depend)
{
	struct strbuf more = {0};
	unsigned number;

	strbuf_printf(&more, "\"depend\":\"%s\"", depend);
	number = submit(f, more.text);
	strbuf_fini(&more);
	return number;
}

/* Equal scripts of a user are stored once: those that are kept in memory for comparison, and those
 * that are too large for it; others are not taken for equal. */
static void equal_scripts_are_kept_once(void **state)
{
	static const int sizes[] = {10, 10, 40000, 40000, 10};
	struct site *f = *state;
	uint64_t script[5];

	for (int i = 0; i < 5; i++) {
		struct strbuf body = {0};
		strbuf_printf(&body, "{\"hold\":\"u\",\"script\":\"echo %0*d\"}", sizes[i], i == 4);
		assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs", body.text), 201);
		strbuf_fini(&body);
	}
	for (uint32_t i = 0; i < 5; i++)
		script[i] = entry_get(f->s, f->s->jobs->entries.n - 5 + i)->spec->script;
	assert_int_equal(script[0], script[1]);
	assert_int_equal(script[2], script[3]);
	assert_int_not_equal(script[0], script[2]);
	assert_int_not_equal(script[0], script[4]);
}

static int alter(struct site *f, const char *job, const char *body)
{
	char path[80];

	snprintf(path, sizeof path, "/v1/jobs/%s", job);
	return site_ask(f, USER, "PATCH", path, body);
}

static int depend(struct site *f, unsigned job, const char *text)
{
	char id[16], body[100];

	snprintf(id, sizeof id, "%u", job);
	snprintf(body, sizeof body, "{\"depend\":\"%s\"}", text);
	return alter(f, id, body);
}

static void says(const struct site *f, const char *text)
{
	if (!strstr(strbuf_text(&f->a.body), text))
		fail_msg("\"%s\" is not in %s", text, strbuf_text(&f->a.body));
}

/* "afterok:FIRST:..." of `n` jobs. */
static char *list(const char *type, unsigned first, unsigned n)
{
	struct strbuf text = {0};

	strbuf_puts(&text, type);
	for (unsigned i = 0; i < n; i++)
		strbuf_printf(&text, ":%u", first + i);
	return text.text;
}

/* Levels of jobs, each of which waits for all of the level before: there are 6^14 ways through
 * them. */
static void a_layered_workflow_is_altered(void **state)
{
	struct site *f = *state;
	unsigned first = submit(f, ""), last = 0;

	for (unsigned k = 1; k < WIDE; k++)
		submit(f, "");
	for (unsigned level = 1; level < LEVELS; level++)
		for (unsigned k = 0; k < WIDE; k++) {
			char *text = list("afterok", first + (level - 1) * WIDE, WIDE);
			last = submit_after(f, text);
			free(text);
		}
	char id[16], text[40];
	snprintf(id, sizeof id, "%u", last);
	assert_int_equal(alter(f, id, "{\"name\":\"x\"}"), 200);
	snprintf(text, sizeof text, "afterok:%u", last);
	assert_int_equal(depend(f, first, text), 422);
	says(f, "it would wait for itself");
	assert_int_equal(depend(f, last, "afterany:1"), 200);
	assert_int_equal(depend(f, first, text), 422);
	assert_int_equal(depend(f, last, "afterany:2"), 200);
	assert_int_equal(depend(f, first, text), 200);
	site_reopen(f);
	assert_int_equal(depend(f, 2, text), 422);
}

static void long_circles_are_refused(void **state)
{
	struct site *f = *state;
	unsigned first = submit(f, ""), last = first;
	char text[40];

	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof text, "afterok:%u", last);
		last = submit_after(f, text);
	}
	snprintf(text, sizeof text, "afterok:%u", last);
	assert_int_equal(depend(f, first, text), 422);
	says(f, "it would wait for itself");
	/* Through a new job, which comes before one that it waits for. */
	snprintf(text, sizeof text, "afterok:%u,before:%u", last, first);
	assert_int_equal(submit_after(f, text), 0);
	says(f, "it would wait for itself");
	snprintf(text, sizeof text, "afterok:%u,before:%u", first, first);
	assert_int_equal(submit_after(f, text), 0);
	snprintf(text, sizeof text, "afterok:%u,before:%u", first, last);
	assert_int_not_equal(submit_after(f, text), 0);
}

/* Only a submission goes before other jobs; an alteration says so, and may repeat what the
 * submission said. */
static void before_is_for_submissions(void **state)
{
	struct site *f = *state;
	unsigned other = submit_after(f, "on:1"), late = submit_after(f, "on:1"), job;
	char text[64];

	snprintf(text, sizeof text, "before:%u", late);
	job = submit_after(f, text);
	assert_int_equal(depend(f, job, text), 200);
	snprintf(text, sizeof text, "beforeok:%u", other);
	assert_int_equal(depend(f, job, text), 422);
	snprintf(text, sizeof text, "alter job %u instead: depend=afterok:%u", other, job);
	assert_non_null(strstr(f->a.body.text, text));
	snprintf(text, sizeof text, "\"array\":\"0-2000\",\"depend\":\"before:%u\"", late);
	assert_int_equal(submit(f, text), 0);
	says(f, "a request with before dependencies has at most 2000 jobs, and this one has 2001");
	snprintf(text, sizeof text, "\"array\":\"1-2000\",\"depend\":\"before:%u\"", late);
	assert_int_not_equal(submit(f, text), 0);
}

/* The elements of an array share what they depend on, in memory and when they are restored;
 * altering keeps nothing of what was before. */
static void an_array_shares_its_dependencies(void **state)
{
	struct site *f = *state;
	unsigned first = submit(f, "");
	struct strbuf more = {0};
	char *text, id[16];

	for (int i = 1; i < 100; i++)
		submit(f, "");
	text = list("afterok", first, 100);
	strbuf_printf(&more, "\"array\":\"1-300\",\"depend\":\"%s\"", text);
	snprintf(id, sizeof id, "%u[]", submit(f, more.text));
	assert_int_equal(gate_relations(f->s->gate), 100);
	for (int i = 0; i < 20; i++)
		assert_int_equal(alter(f, id, i % 2 ? "{\"name\":\"a\"}" : "{\"name\":\"b\"}"), 200);
	assert_int_equal(gate_relations(f->s->gate), 100);
	strbuf_clear(&more);
	strbuf_printf(&more, "{\"depend\":\"afterany:%u\"}", first);
	assert_int_equal(alter(f, id, more.text), 200);
	assert_int_equal(gate_relations(f->s->gate), 1);
	int64_t related = f->s->jobs->related;
	site_reopen(f);
	assert_int_equal(f->s->jobs->related, related); /* what was counted before the commit is what recovery needs */
	assert_true((int64_t)gate_relations(f->s->gate) <= related);
	strbuf_fini(&more);
	free(text);
}

static void elements_times_ids_are_bounded(void **state)
{
	struct site *f = *state;
	unsigned first = submit(f, "");
	struct strbuf more = {0};

	strbuf_puts(&more, "\"array\":\"1-20000\",\"depend\":\"afterok");
	for (int i = 0; i < 10000; i++)
		strbuf_printf(&more, ":%u", first);
	strbuf_puts(&more, "\"");
	assert_int_equal(submit(f, more.text), 0);
	says(f, "20000 jobs that each depend on 10000 others are too many: at most 10000000 relations");
	assert_int_equal(gate_relations(f->s->gate), 0);
	strbuf_fini(&more);
}

/* What is interned: kept things, and slots that are in use. */
struct interned {
	size_t words, shapes, requests, sets;
};

static struct interned interned(const struct server *s)
{
	const struct cluster *c = s->cluster;

	return (struct interned){s->words->n - s->words->spare.n, c->shapes.n - c->spare_shapes.n,
				 c->requests.n - c->spare_requests.n, c->nodesets.n};
}

static void same_interned(const struct server *s, struct interned before)
{
	struct interned now = interned(s);

	assert_int_equal(now.words, before.words);
	assert_int_equal(now.shapes, before.shapes);
	assert_int_equal(now.requests, before.requests);
	assert_int_equal(now.sets, before.sets);
}

/* Asks for something that nobody asked for before: each time other words, another shape and
 * another request. */
static void ask(struct site *f, int i, const char *method, const char *path, const char *nodes)
{
	char body[400];

	snprintf(
		body, sizeof body,
		"{\"script\":\"true\",\"hold\":\"u\",\"resources\":[\"nodes=%s%d:ppn=1,mem=%dkb\"],\"account\":\"a%d\","
		"\"project\":\"p%d\",\"submit_host\":\"h%d\",\"checkpoint\":\"c=%d\",\"queue\":\"%s\"}",
		nodes, 1000 + i, 1024 + i, i, i, i, i + 1, i % 3 ? "batch" : "nowhere");
	site_ask(f, USER, method, path, body);
}

static int queue_set(struct site *f, const char *name, const char *value)
{
	char body[200];

	snprintf(body, sizeof body, "{\"changes\":[{\"op\":\"set\",\"name\":\"%s\",\"value\":\"%s\"}]}", name, value);
	return site_ask(f, getuid(), "PATCH", "/v1/queues/big", body);
}

static void what_is_refused_or_asked_about_is_gone(void **state)
{
	struct site *f = *state;

	assert_int_equal(site_ask(f, getuid(), "PUT", "/v1/queues/big", "{}"), 201);
	assert_int_equal(queue_set(f, "enabled", "True"), 200);
	assert_int_equal(queue_set(f, "resources_default.nodes", "3:ppn=6+3:ppn=5"), 200);
	unsigned job = submit(f, "");
	char path[40], body[200];

	assert_int_not_equal(submit(f, "\"resources\":[\"mem=778kb\"]"), 0);
	ask(f, 9999, "POST", "/v1/whatif", "");
	struct interned before = interned(f->s);
	snprintf(path, sizeof path, "/v1/jobs/%u", job);
	for (int i = 0; i < 2000; i++) {
		ask(f, i, "POST", "/v1/whatif", "");
		assert_int_not_equal(f->a.status, 500);
		ask(f, i, "POST", "/v1/jobs", "");
		assert_int_not_equal(f->a.status, 201);
		snprintf(body, sizeof body, "{\"account\":\"x%d\",\"resources\":[\"nodes=%d\"]}", i, 2000 + i);
		assert_int_not_equal(site_ask(f, USER, "PATCH", path, body), 200);
		snprintf(body, sizeof body, "/v1/quota/u%d", i);
		site_ask(f, getuid(), "GET", body, NULL);
		snprintf(body, sizeof body, "{\"ids\":[\"%u\"],\"queue\":\"q%d\"}", job, i);
		site_ask(f, USER, "POST", "/v1/jobs/move", body);
		if (i < 100) { /* these do not fit on four nodes */
			snprintf(body, sizeof body, "%dkb", 90000 + i);
			assert_int_equal(queue_set(f, "resources_default.mem", body), 200);
			snprintf(body, sizeof body, "{\"ids\":[\"%u\"],\"queue\":\"big\"}", job);
			site_ask(f, USER, "POST", "/v1/jobs/move", body);
			says(f, "it requests 33 CPUs, but all nodes together have 32");
		}
		snprintf(body, sizeof body, "/v1/jobs?user=u%d&name=n%d", i, i);
		site_ask(f, USER, "GET", body, NULL);
	}
	same_interned(f->s, before);
	/* What another one accepted in between stays, and is what it was. */
	snprintf(body, sizeof body, "\"project\":\"kept\",\"resources\":[\"mem=777kb\"]");
	job = submit(f, body);
	if (!job)
		fail_msg("%s", strbuf_text(&f->a.body));
	for (int i = 0; i < 100; i++)
		ask(f, i, "POST", "/v1/whatif", "");
	snprintf(path, sizeof path, "/v1/jobs/%u", job);
	assert_int_equal(site_ask(f, USER, "GET", path, NULL), 200);
	says(f, "\"project\":\"kept\"");
	says(f, "mem=777kb");
}

/* Each part of a request for very many nodes takes memory: not of one that is refused. */
static void huge_requests_are_freed(void **state)
{
	struct site *f = *state;
	struct interned before = interned(f->s);
	char body[100];

	for (int i = 0; i < 20; i++) {
		snprintf(body, sizeof body, "{\"script\":\"true\",\"resources\":[\"nodes=%d\"]}", 99999 - i);
		site_ask(f, USER, "POST", "/v1/whatif", body);
		site_ask(f, USER, "POST", "/v1/jobs", body);
	}
	assert_int_equal(interned(f->s).requests, before.requests);
}

static void long_lists_are_bounded(void **state)
{
	struct site *f = *state;
	unsigned job = submit(f, "\"array\":\"0-9999\"");
	struct strbuf text = {0};

	strbuf_puts(&text, "/v1/jobs?limit=1&ids=");
	for (int i = 0; i < 30; i++)
		strbuf_printf(&text, "%s%u[0-9999]", i ? "," : "", job);
	assert_int_equal(site_ask(f, USER, "GET", text.text, NULL), 400);
	says(f, "ids: more than 200000 jobs are named");
	strbuf_clear(&text);
	strbuf_puts(&text, "/v1/jobs?fields=id&ids=");
	for (int i = 0; i < 300; i++)
		strbuf_printf(&text, "%s%u[]", i ? "," : "", job);
	assert_int_equal(site_ask(f, USER, "GET", text.text, NULL), 400); /* each of them looks at all elements */
	strbuf_clear(&text);
	strbuf_printf(&text, "/v1/jobs?fields=id&ids=%u[],%u[]", job, job);
	assert_int_equal(site_ask(f, USER, "GET", text.text, NULL), 200);
	char *first = strstr(f->a.body.text, "\"id\"");
	assert_non_null(first);
	assert_null(strstr(first + 1, "\"id\"")); /* the array is one row */
	/* Elements that are not there take a look as well. */
	job = submit(f, "\"array\":\"0-2\"");
	for (int action = 0; action < 2; action++) {
		strbuf_clear(&text);
		strbuf_puts(&text, action ? "{\"ids\":[" : "/v1/jobs?ids=");
		for (int i = 0; i < 30; i++)
			strbuf_printf(&text, action ? "%s\"%u[0-9,8-99990]\"" : "%s%u[0-9,8-99990]", i ? "," : "", job);
		strbuf_puts(&text, action ? "]}" : "");
		if (action)
			assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs/hold", text.text), 200);
		else
			assert_int_equal(site_ask(f, USER, "GET", text.text, NULL), 400);
		says(f, action ? "one request names at most 1000000 jobs" : "ids: more than 200000 jobs are named");
	}
	strbuf_fini(&text);
}

static void large_bodies_are_bounded(void **state)
{
	static const char *const paths[] = {"/v1/jobs", "/v1/whatif", "/v1/jobs/hold"};
	struct site *f = *state;
	struct strbuf keys = {0}, objects = {0}, bulk = {0};

	strbuf_puts(&keys, "{");
	strbuf_puts(&objects, "{\"x\":[");
	strbuf_puts(&bulk, "{\"jobs\":[{\"script\":\"true\",\"environment\":{");
	for (int i = 0; i < 250000; i++) {
		strbuf_printf(&keys, "%s\"k%d\":\"\\\"\"", i ? "," : "", i);
		strbuf_puts(&objects, i ? ",{}" : "{}");
		strbuf_printf(&bulk, "%s\"k%d\":\"1\"", i ? "," : "", i);
	}
	strbuf_puts(&keys, "}");
	strbuf_puts(&objects, "]}");
	strbuf_puts(&bulk, "}}]}");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(site_ask(f, USER, "POST", paths[i], keys.text), 400);
		says(f, "the body has more than 200000 values");
		assert_int_equal(site_ask(f, USER, "POST", paths[i], objects.text), 400);
		says(f, "the body has more than 200000 values");
	}
	assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs", bulk.text), 400);
	says(f, "values");
	/* An object with many members takes longer to read than as many values elsewhere. */
	strbuf_clear(&keys);
	strbuf_clear(&objects);
	strbuf_puts(&keys, "{\"script\":\"true\",\"x\":[{\"\\\":\":[{");
	strbuf_puts(&objects, "{\"script\":\"true\",\"x\":[");
	for (int i = 0; i < 20001; i++) {
		strbuf_printf(&keys, "%s\"k%d\":\"\\\\\"", i ? "," : "", i);
		strbuf_printf(&objects, "%s{\"k%d\":{}}", i ? "," : "", i);
	}
	strbuf_puts(&keys, "}]}]}");
	strbuf_puts(&objects, "]}");
	assert_int_equal(site_ask(f, USER, "POST", "/v1/whatif", keys.text), 400);
	says(f, "an object more than 20000 members");
	assert_int_equal(site_ask(f, USER, "POST", "/v1/whatif", objects.text), 400);
	says(f, "unknown member \\\"x\\\"");
	strbuf_fini(&keys);
	strbuf_fini(&objects);
	strbuf_fini(&bulk);
}

/* Writes a job whose script has this many escaped quotes. */
static void job_write(struct strbuf *out, size_t quotes)
{
	strbuf_puts(out, "{\"hold\":\"u\",\"script\":\"");
	for (size_t i = 0; i < quotes; i++)
		strbuf_puts(out, "\\\"");
	strbuf_puts(out, "\"}");
}

/* A large job by itself is read beside the loop, with the same answers; in a list, where each job
 * is read in one step, it is refused. */
static void large_texts_do_not_hold_the_loop(void **state)
{
	struct site *f = *state;
	struct strbuf body = {0};
	struct bare_answer answer = {0};
	struct http_request *r;

	job_write(&body, 300000);
	r = bare_receive(f->s, USER, "POST", "/v1/jobs", body.text, &answer);
	assert_false(bare_answered(r));
	assert_int_equal(f->s->audience->readings.n, 1);
	bare_settle(f->s);
	for (int i = 0; i < 100 && !bare_answered(r); i++)
		server_turn(f->s);
	assert_int_equal(answer.status, 201);
	bare_end(r);
	strbuf_fini(&answer.body);

	body.text[body.n - 1] = ']';
	assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs", body.text), 400);
	says(f, "the body is not JSON");

	strbuf_clear(&body);
	strbuf_puts(&body, "{\"jobs\":[");
	job_write(&body, 500000);
	strbuf_puts(&body, ",");
	job_write(&body, 600000);
	strbuf_puts(&body, "]}");
	assert_int_not_equal(site_ask(f, USER, "POST", "/v1/jobs", body.text), 201);
	says(f, "jobs[1] has more than 1048576 bytes: submit it by itself");
	strbuf_fini(&body);
}

/* Submits a job with `count` variables of `size` bytes each. Returns the status. */
static int submit_environment(struct site *f, const char *more, int count, int size)
{
	struct strbuf body = {0};

	strbuf_printf(&body, "{\"script\":\"true\",%s\"environment\":[", more);
	for (int i = 0; i < count; i++)
		strbuf_printf(&body, "%s\"A%d=%0*d\"", i ? "," : "", i, size, i);
	strbuf_puts(&body, "]}");
	int status = site_ask(f, USER, "POST", "/v1/jobs", body.text);
	strbuf_fini(&body);
	return status;
}

/* What is read from the store and sent to a host when a job starts. */
static void what_a_start_needs_is_bounded(void **state)
{
	struct site *f = *state;
	struct strbuf body = {0};

	strbuf_printf(&body, "{\"hold\":\"u\",\"script\":\"%0*d\"}", 4 << 20, 0);
	assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs", body.text), 201);
	strbuf_clear(&body);
	strbuf_printf(&body, "{\"hold\":\"u\",\"script\":\"%0*d\"}", (4 << 20) + 1, 0);
	assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs", body.text), 400);
	says(f, "the script has 4194305 bytes: at most 4194304 are taken");
	strbuf_clear(&body);

	assert_int_equal(submit_environment(f, "\"hold\":\"u\",", 2000, 1000), 201);
	assert_int_equal(submit_environment(f, "\"hold\":\"u\",", 2100, 1000), 400);
	says(f, "args and environment take 21");
	assert_int_equal(submit_environment(f, "\"hold\":\"u\",", 66000, 1), 400);
	/* the store has six bytes for each */
	strbuf_puts(&body, "{\"hold\":\"u\",\"script\":\"true\",\"environment\":[\"A=");
	for (int i = 0; i < 350000; i++)
		strbuf_puts(&body, "\\u0001");
	strbuf_puts(&body, "\"]}");
	assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs", body.text), 400);
	says(f, "args and environment take 2100034 bytes in JSON");
	strbuf_clear(&body);
	unsigned job = submit(f, "");
	strbuf_printf(&body, "{\"args\":[\"%0*d\"]}", 2 << 20, 0);
	char id[16];
	snprintf(id, sizeof id, "%u", job);
	assert_int_equal(alter(f, id, body.text), 400);
	says(f, "args and environment take");
	strbuf_fini(&body);
}

/* Every job of an action is given its arguments, and is compared with its filter. */
static void arguments_times_jobs_are_bounded(void **state)
{
	struct site *f = *state;
	unsigned job = submit(f, "\"array\":\"0-999\"");
	struct strbuf text = {0};

	for (int i = 0; i < 2; i++) {
		strbuf_clear(&text);
		strbuf_printf(&text, i ? "{\"filter\":{\"state\":\"H\"}" : "{\"ids\":[\"%u[]\"]", job);
		strbuf_printf(&text, ",\"environment\":[\"A=%0*d\"]}", 1 << 20, 0);
		assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs/alter", text.text), 200);
		says(f, "one request gives its jobs at most 128 MB in all, and this one has 10485");
	}
	strbuf_clear(&text);
	strbuf_printf(&text, "{\"ids\":[\"%u[0-9]\"],\"environment\":[\"A=%0*d\"]}", job, 1 << 20, 0);
	assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs/alter", text.text), 200);
	assert_null(strstr(f->a.body.text, "error"));
	strbuf_clear(&text);
	strbuf_printf(&text, "{\"ids\":[\"%u[]\"],\"holds\":\"%0*d\"}", job, 65, 0);
	assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs/hold", text.text), 400);
	strbuf_clear(&text);
	strbuf_printf(&text, "{\"filter\":{\"state\":\"%0*d\"}}", 65, 0);
	assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs/hold", text.text), 400);
	strbuf_clear(&text);
	strbuf_puts(&text, "/v1/jobs?state=");
	for (int i = 0; i < 65; i++)
		strbuf_puts(&text, "R");
	assert_int_equal(site_ask(f, USER, "GET", text.text, NULL), 400);
	says(f, "state has 65 characters: at most 64 are taken");
	strbuf_fini(&text);
}

/* The elements of an array start at the same time, each with the whole environment. */
static void large_starts_take_several_turns(void **state)
{
	struct site *f = *state;
	const struct bare_attempt *list;

	bare_clear();
	assert_int_equal(submit_environment(f, "\"array\":\"1-32\",", 1000, 1000), 201);
	server_turn(f->s);
	assert_in_range(bare_attempts(&list), 1, 16);
	for (int i = 0; i < 100 && bare_attempts(&list) < 32; i++)
		server_turn(f->s);
	assert_int_equal(bare_attempts(&list), 32);
	bare_clear();
}

/* Users can't keep the site's managers from saving templates. */
static void templates_are_bounded(void **state)
{
	struct site *f = *state;
	struct template t = {.by = "root", .job = "{}"};
	char user[16], name[16];
	struct err err;

	for (int i = 0; i < TEMPLATES_OF_ALL; i++) {
		snprintf(user, sizeof user, "u%d", i / TEMPLATES_OF_ONE);
		snprintf(name, sizeof name, "t%d", i);
		t.user = user;
		t.name = name;
		assert_int_equal(template_put(f->s, &t, &err), 0);
	}
	t.name = "more";
	assert_true(template_put(f->s, &t, &err) < 0);
	assert_non_null(strstr(err.text, "there can be 50 templates of a user"));
	t.user = "other";
	assert_true(template_put(f->s, &t, &err) < 0);
	assert_int_equal(site_ask(f, getuid(), "PUT", "/v1/templates/t1", "{\"site\":true,\"job\":{\"script\":\"x\"}}"),
			 201);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(equal_scripts_are_kept_once, setup, site_teardown),
		cmocka_unit_test_setup_teardown(before_is_for_submissions, setup, site_teardown),
		cmocka_unit_test_setup_teardown(a_layered_workflow_is_altered, setup, site_teardown),
		cmocka_unit_test_setup_teardown(long_circles_are_refused, setup, site_teardown),
		cmocka_unit_test_setup_teardown(an_array_shares_its_dependencies, setup, site_teardown),
		cmocka_unit_test_setup_teardown(elements_times_ids_are_bounded, setup, site_teardown),
		cmocka_unit_test_setup_teardown(what_is_refused_or_asked_about_is_gone, setup, site_teardown),
		cmocka_unit_test_setup_teardown(huge_requests_are_freed, setup, site_teardown),
		cmocka_unit_test_setup_teardown(long_lists_are_bounded, setup, site_teardown),
		cmocka_unit_test_setup_teardown(large_bodies_are_bounded, setup, site_teardown),
		cmocka_unit_test_setup_teardown(large_texts_do_not_hold_the_loop, setup, site_teardown),
		cmocka_unit_test_setup_teardown(what_a_start_needs_is_bounded, setup, site_teardown),
		cmocka_unit_test_setup_teardown(arguments_times_jobs_are_bounded, setup, site_teardown),
		cmocka_unit_test_setup_teardown(large_starts_take_several_turns, setup, site_teardown),
		cmocka_unit_test_setup_teardown(templates_are_bounded, setup, site_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
