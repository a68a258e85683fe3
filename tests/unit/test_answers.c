/*
 * test_answers.c - requests with something wrong in them, made from the API's own description: each
 * member and parameter with another type, missing, with another word and out of bounds, and names
 * that no object has. Every answer must be described (support/bare.c checks it), and the error must
 * name the member.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "server/api/frame/route.h"
#include "server/server.h"
#include "support/bare.h"
#include "support/site.h"

/* Opens a server with a held job, 1. */
static int setup(void **state)
{
	int rc = site_setup(state, "n1:cpus=4", 0);

	assert_int_equal(site_ask(*state, getuid(), "POST", "/v1/jobs", "{\"script\":\"true\",\"hold\":\"u\"}"), 201);
	return rc;
}

/* Sends a request by the way that its route is for. */
static int ask(struct site *f, const struct route *route, const char *path, const char *body)
{
	struct bare_client from = {.page = route->may == MAY_VISITOR, .header = {{"Host", "localhost:0"}}};

	if (route->may < MAY_ANYONE)
		return site_ask(f, getuid(), route->method, path, body);
	strbuf_fini(&f->a.body);
	f->a = (struct bare_answer){0};
	return bare_remote(f->s, &from, route->method, path, body, &f->a);
}

/* Writes the path of a route with a name for each star. */
static const char *path_with(const struct route *route, const char *name, struct strbuf *out)
{
	strbuf_clear(out);
	for (const char *p = route->path; *p; p++)
		strbuf_printf(out, *p == '*' ? "%s" : "%.1s", *p == '*' ? name : p);
	return strbuf_text(out);
}

/* ---- bodies ---- */

static json_t *good_value(const struct field *f);

/* Gives an object the members that it must have. */
static void members_fill(const struct schema *t, json_t *body)
{
	if (t->base)
		members_fill(t->base, body);
	for (const struct field *m = schema_next(t, NULL); m; m = schema_next(t, m))
		if (m->is & REQUIRED)
			json_object_set_new(body, m->name, good_value(m));
}

/* Returns a value that a member may have. */
static json_t *good_value(const struct field *f)
{
	if (f->words)
		return json_stringn(f->words, strcspn(f->words, "|"));
	if (f->is & (IS_TEXT | IS_BYTES))
		return json_string("x");
	if (f->is & (IS_INT | IS_INSTANT | IS_REAL))
		return json_integer(f->least);
	if (f->is & IS_BOOL)
		return json_true();

	json_t *o = json_object(), *list = json_array();

	if (f->of)
		members_fill(f->of, o);
	if (f->is & IS_OBJECT) {
		json_decref(list);
		return o;
	}
	for (int64_t i = 0; i < f->least; i++)
		json_array_append_new(list, f->item & IS_TEXT ? json_string("x") : json_incref(o));
	json_decref(o);
	return list;
}

/* Returns the number `i` of the values that a member may not have; NULL: there is none. */
static json_t *bad_value(const struct field *f, int i)
{
	bool bounded = f->least || f->most;

	switch (i) {
	case 0: /* another type */
		return !f->is				 ? NULL
		       : !(f->is & (IS_TEXT | IS_BYTES)) ? json_string("x")
		       : !(f->is & IS_LIST)		 ? json_array()
							 : json_true();
	case 1:
		return f->is && !(f->is & IS_OBJECT) ? json_object() : NULL;
	case 2:
		return f->is & IS_TEXT && strcmp(f->name, "script") != 0 ? json_stringn("x\0y", 3) : NULL;
	case 3:
		return f->words ? json_string("no-such-word") : NULL;
	case 4:
		return f->is & IS_INT && bounded && f->most < INT64_MAX ? json_integer(f->most + 1) : NULL;
	case 5:
		return f->is & IS_INT && bounded ? json_integer(f->least - 1) : NULL;
	default:
		return NULL;
	}
}
#define BAD_VALUES 6

static bool says(const struct site *f, const char *word)
{
	return strstr(strbuf_text(&f->a.body), word) != NULL;
}

/* Sends the body with one member replaced (`v` NULL: left out), and expects an error that names
 * the member. */
static void wrong_member(struct site *f, const struct route *route, const char *path, json_t *body,
			 const struct field *m, json_t *v)
{
	json_t *copy = json_copy(body);

	if (v)
		json_object_set_new(copy, m->name, v);
	else
		json_object_del(copy, m->name);
	char *text = json_dumps(copy, 0);
	int status = ask(f, route, path, text);
	if ((status != 400 && !says(f, "\"code\":\"bad_request\"")) || !says(f, m->name))
		fail_msg("%s %s %s: %d %s", route->method, path, text, status, strbuf_text(&f->a.body));
	free(text);
	json_decref(copy);
}

static int members_try(struct site *f, const struct route *route, const struct schema *t, const char *path,
		       json_t *body)
{
	int n = t->base ? members_try(f, route, t->base, path, body) : 0;

	for (const struct field *m = schema_next(t, NULL); m; m = schema_next(t, m)) {
		if (strcmp(path, "/v1/whatif") == 0 && strcmp(m->name, "restart") == 0)
			continue; /* it changes nothing there */
		if (m->is & REQUIRED)
			wrong_member(f, route, path, body, m, NULL);
		for (int i = 0; i < BAD_VALUES; i++) {
			json_t *v = bad_value(m, i);
			if (v)
				wrong_member(f, route, path, body, m, v);
			n += v != NULL;
		}
	}
	return n;
}

static void wrong_bodies(void **state)
{
	struct site *f = *state;
	struct strbuf path = {0};
	int n = 0;

	for (const struct route *route = routes; route < routes + nroutes; route++) {
		bool proven = route->may == MAY_SITE || strcmp(route->path, "/v1/join") == 0; /* by a token first */
		if (!route->body || proven)
			continue;
		json_t *body = json_object();
		members_fill(route->body, body);
		if (strcmp(route->path, "/v1/jobs") == 0)
			json_object_set_new(body, "script", json_string("true"));
		if (strncmp(route->path, "/v1/jobs/", 9) == 0 && !strchr(route->path, '*') &&
		    !json_object_get(body, "ids"))
			json_object_set_new(body, "ids", json_pack("[s]", "1"));
		n += members_try(f, route, route->body, path_with(route, "1", &path), body);
		wrong_member(f, route, strbuf_text(&path), body, &(struct field){.name = "no-such-member"},
			     json_true());
		json_decref(body);
		for (int i = 0; i < 2; i++) {
			int status = ask(f, route, strbuf_text(&path), i ? "{\"x\":" : "[]");
			if (status != 400 || !says(f, i ? "the body is not JSON" : "must be a JSON object"))
				fail_msg("%s %s: %d %s", route->method, strbuf_text(&path), status,
					 strbuf_text(&f->a.body));
		}
	}
	assert_true(n > 300);
	strbuf_fini(&path);
}

/* ---- parameters ---- */

static void wrong_parameters(void **state)
{
	struct site *f = *state;
	struct strbuf path = {0};
	char large[64];

	for (const struct route *route = routes; route < routes + nroutes; route++)
		for (const struct field *q = route->query; q && q->name; q++)
			for (int i = 0; i < 4; i++) {
				const char *const wrong[] = {"x", "-1", "", large};
				snprintf(large, sizeof large, "%lld", (long long)q->most + 1);
				if (q->words ? i == 3 : !(q->is & (IS_INT | IS_INSTANT)) || (i == 3 && !q->most))
					continue;
				path_with(route, "1", &path);
				strbuf_puts(&path, "?");
				for (const struct field *other = route->query; other->name; other++)
					if (other != q && other->is & REQUIRED)
						strbuf_printf(&path, "%s=x&", other->name);
				strbuf_printf(&path, "%s=%s", q->name, wrong[i]);
				int status = ask(f, route, strbuf_text(&path), NULL);
				if (status != 400 || !says(f, q->name))
					fail_msg("%s %s: %d %s", route->method, strbuf_text(&path), status,
						 strbuf_text(&f->a.body));
			}
	strbuf_fini(&path);
}

/* ---- names ---- */

static const char *const names[] = {
	"x",
	"0",
	"-1",
	"2[",
	"2[0]",
	"2[]",
	"99999999999999999999",
	"2.other",
	"slurm:12.other",
	"a b",
	"\xff",
	"01234567890123456789012345678901234567890123456789012345678901234567890123456789",
};

static void no_such_name(void **state)
{
	struct site *f = *state;
	struct strbuf path = {0};

	for (const struct route *route = routes; route < routes + nroutes; route++)
		for (size_t i = 0; strchr(route->path, '*') && i < sizeof names / sizeof *names; i++) {
			if (strcmp(route->method, "PUT") == 0)
				continue;
			path_with(route, names[i], &path);
			if (route->query && strcmp(route->query->name, "new") == 0)
				strbuf_puts(&path, "?new=false");
			int status = ask(f, route, strbuf_text(&path), route->example);
			if (!says(f, "{\"results\":") && (status < 400 || status >= 500))
				fail_msg("%s %s: %d %s", route->method, strbuf_text(&path), status,
					 strbuf_text(&f->a.body));
		}
	strbuf_fini(&path);
}

/* ---- methods and paths ---- */

static void no_such_route(void **state)
{
	struct site *f = *state;

	assert_int_equal(site_ask(f, getuid(), "DELETE", "/v1/jobs", NULL), 405);
	assert_true(says(f, "DELETE is not possible on /v1/jobs."));
	assert_int_equal(site_ask(f, getuid(), "GET", "/v1/nosuch", NULL), 404);
	assert_true(says(f, "There is no /v1/nosuch"));
	assert_int_equal(site_ask(f, getuid(), "GET", "/v1/jobs/", NULL), 404);
	assert_int_equal(site_ask(f, getuid(), "GET", "/v1/jobs/1/nosuch", NULL), 404);
}

/* ---- the past, templates, lists ---- */

#define NOW INT64_C(1800000000) /* 2027-01-15 08:00:00 UTC */
#define ROOT 0
#define DAEMON 1
#define BIN 2

#define PAST(id, rest) "{\"jobs\":[{\"id\":\"" id "\",\"submitted\":1799990000,\"ended\":1799997200," rest "}]}"
#define FIRST                                                                                                          \
	PAST("slurm:12.old", "\"owner\":\"daemon\",\"name\":\"sim1\",\"state\":\"completed\",\"queue\":\"q\","         \
			     "\"started\":1799993600,\"cpus\":2,\"ran_ms\":3600000,\"cpu_ms\":7000000")
#define SECOND                                                                                                         \
	PAST("slurm:13.old", "\"owner\":\"bin\",\"name\":\"other\",\"state\":\"failed\",\"exit_status\":3,"            \
			     "\"started\":1799993600,\"cpus\":1,\"ran_ms\":1800000")

/* Requests in this order, with what their answers contain and what they do not. */
static const struct {
	int uid;
	const char *method, *path, *body;
	int status;
	const char *has, *lacks;
} steps[] = {
	{ROOT, "POST", "/v1/history", FIRST, 200, "{\"added\":1,\"known\":0,\"too_old\":0}", NULL},
	{ROOT, "POST", "/v1/history", SECOND, 200, "{\"added\":1,\"known\":0,\"too_old\":0}", NULL},
	{ROOT, "POST", "/v1/history", FIRST, 200, "{\"added\":0,\"known\":1,\"too_old\":0}", NULL},
	{ROOT, "POST", "/v1/history", PAST("12", "\"owner\":\"bin\",\"state\":\"failed\""), 400,
	 "jobs[0]: id must name the system", NULL},
	{ROOT, "POST", "/v1/history", PAST("slurm:1", "\"owner\":\"bin\",\"state\":\"failed\",\"started\":1799997201"),
	 400, "jobs[0]: started is after ended", NULL},
	{ROOT, "POST", "/v1/history",
	 PAST("slurm:1", "\"owner\":\"bin\",\"state\":\"failed\",\"started\":1,\"ran_ms\":500000000000"), 400,
	 "jobs[0]: with it the jobs ran on more than 5000 days", NULL},
	{DAEMON, "POST", "/v1/history", FIRST, 403, "", NULL},
	{ROOT, "GET", "/v1/history", NULL, 200, "\"id\":\"slurm:13.old\"", NULL},
	{ROOT, "GET", "/v1/history?limit=1", NULL, 200, "\"next\":\"", NULL},
	{ROOT, "GET", "/v1/history?user=daemon", NULL, 200, "slurm:12.old", "slurm:13.old"},
	{ROOT, "GET", "/v1/history?state=failed", NULL, 200, "slurm:13.old", "slurm:12.old"},
	{ROOT, "GET", "/v1/history?name=sim*", NULL, 200, "slurm:12.old", "slurm:13.old"},
	{ROOT, "GET", "/v1/history?queue=q", NULL, 200, "slurm:12.old", "slurm:13.old"},
	{ROOT, "GET", "/v1/history?since=1799997201", NULL, 200, "\"jobs\":[]", NULL},
	{ROOT, "GET", "/v1/history?until=1799997200", NULL, 200, "\"jobs\":[]", NULL},
	{ROOT, "GET", "/v1/history?id=slurm:12.old&form=job", NULL, 200, "\"past\":true", "slurm:13.old"},
	{ROOT, "GET", "/v1/history?state=nosuch", NULL, 400, "nosuch", NULL},
	{ROOT, "GET", "/v1/history?id=x[", NULL, 400, "x[", NULL},
	{ROOT, "GET", "/v1/history?after=x", NULL, 400, "after", NULL},
	{BIN, "GET", "/v1/history", NULL, 200, "slurm:13.old", "slurm:12.old"}, /* one's own */
	{BIN, "GET", "/v1/history?user=daemon", NULL, 403, "", NULL},
	{DAEMON, "GET", "/v1/jobs/slurm:12.old", NULL, 200, "\"past\":true", NULL},
	{BIN, "GET", "/v1/jobs/slurm:12.old", NULL, 404, "", NULL},
	{ROOT, "GET", "/v1/history/sums?by=user", NULL, 200, "\"daemon\"", NULL},
	{ROOT, "GET", "/v1/history/sums", NULL, 200, "\"jobs\":2", NULL},
	{ROOT, "GET", "/v1/history/sums?by=state&user=bin", NULL, 200, "\"failed\"", "completed"},
	{ROOT, "GET", "/v1/usage?user=daemon", NULL, 200,
	 "{\"usage\":[{\"day\":20270115,\"owner\":\"daemon\",\"group\":\"\",\"account\":null,\"queue\":\"q\",\"attempts\":1,",
	 "bin"},
	{ROOT, "GET", "/v1/usage?first=20270116", NULL, 200, "{\"usage\":[]}", NULL},
	{BIN, "GET", "/v1/usage?user=daemon", NULL, 403, "", NULL},

	{ROOT, "GET", "/v1/audit?kind=queue", NULL, 200, "\"records\":[]", NULL},
	{ROOT, "PUT", "/v1/queues/long", NULL, 201, "", NULL},
	{ROOT, "PUT", "/v1/queues/long", NULL, 409, "There is a queue long already.", NULL},
	{ROOT, "PUT", "/v1/queues/a b", NULL, 400, "A queue's name", NULL},
	{ROOT, "GET", "/v1/audit?kind=queue&name=long", NULL, 200, "\"undo\":\"qmgr -c 'delete queue long'\"", NULL},
	{ROOT, "GET", "/v1/audit?user=bin", NULL, 200, "\"records\":[]", NULL},
	{ROOT, "GET", "/v1/backfill?queue=nosuch", NULL, 404, "nosuch", NULL},
	{ROOT, "GET", "/v1/backfill?feature=nosuch", NULL, 200, "\"windows\":[]", NULL},
	{ROOT, "GET", "/v1/backfill?duration=60", NULL, 200, "\"cpus\":4,\"nodes\":1,\"duration\":null", NULL},
	{ROOT, "GET", "/v1/priority?try=nosuch=1", NULL, 400, "nosuch", NULL},
	{ROOT, "GET", "/v1/priority?try=cpus=10,order=sum", NULL, 200, "", NULL},
	{ROOT, "GET", "/v1/log?job=1", NULL, 200, "", NULL},
	{ROOT, "GET", "/v1/server/log?level=error", NULL, 200, "\"lines\":[", NULL},
	{ROOT, "GET", "/v1/metrics", NULL, 200, "# TYPE shunt_", NULL},
	{ROOT, "GET", "/v1/plan", NULL, 200, "", NULL},
	{ROOT, "GET", "/v1/overview", NULL, 200, "", NULL},
	{ROOT, "GET", "/v1/attributes", NULL, 200, "max_running", NULL},
	{ROOT, "GET", "/v1/site", NULL, 200, "", NULL},
	{ROOT, "GET", "/v1/jobs?state=x!", NULL, 400, "", NULL},
	{ROOT, "GET", "/v1/jobs?fields=nosuch", NULL, 400, "nosuch", NULL},
	{ROOT, "GET", "/v1/jobs?queue=nosuch", NULL, 404, "nosuch", NULL},
	{ROOT, "GET", "/v1/jobs?order=schedule&fields=id,state", NULL, 200, "{\"id\":\"1.bare\",\"state\":\"H\"}",
	 "name"},
	{ROOT, "GET", "/v1/jobs?after=x", NULL, 400, "", NULL},
	{ROOT, "GET", "/v1/jobs?ids=1,2", NULL, 200, "\"id\":\"1.bare\"", NULL},
	{DAEMON, "GET", "/v1/jobs", NULL, 200, "\"jobs\":[]", NULL},
	{ROOT, "GET", "/v1/credits/statement?account=nosuch", NULL, 404, "nosuch", NULL},
	{ROOT, "GET", "/v1/credits/statement", NULL, 400, "account is missing", NULL},
	{ROOT, "PUT", "/v1/templates/relax", "{\"site\":true,\"job\":{\"script\":\"true\",\"comment\":\"relaxes\"}}",
	 201, "", NULL},
	{BIN, "PUT", "/v1/templates/relax", "{\"site\":true,\"job\":{\"script\":\"true\"}}", 403, "", NULL},
	{BIN, "PUT", "/v1/templates/own", "{\"job\":{\"script\":\"false\"}}", 201, "", NULL},
	{BIN, "GET", "/v1/templates", NULL, 200, "\"description\":\"relaxes\"", NULL},
	{BIN, "GET", "/v1/templates/own", NULL, 200, "\"script\":\"false\"", NULL},
	{DAEMON, "GET", "/v1/templates/own", NULL, 404, "own", NULL}, /* another user's */
	{BIN, "DELETE", "/v1/templates/relax", NULL, 403, "", NULL},
	{BIN, "DELETE", "/v1/templates/own", NULL, 200, "", NULL},
	{BIN, "GET", "/v1/templates/own", NULL, 404, "own", NULL},
	{ROOT, "POST", "/v1/credits", "{\"op\":\"deposit\",\"account\":\"nosuch\",\"amount\":1}", 404, "nosuch", NULL},
	{ROOT, "DELETE", "/v1/quota/daemon", NULL, 404, "daemon", NULL},
	{ROOT, "GET", "/v1/quota/moves?user=daemon&month=202713", NULL, 400, "month", NULL},
};

static int setup_past(void **state)
{
	int rc = site_setup(state, "n1:cpus=4", NOW);

	setenv("TZ", "UTC", 1);
	assert_int_equal(site_ask(*state, getuid(), "POST", "/v1/jobs", "{\"script\":\"true\",\"hold\":\"u\"}"), 201);
	return rc;
}

static void requests_in_order(void **state)
{
	struct site *f = *state;
	int wrong = 0;

	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		int status = site_ask(f, steps[i].uid == ROOT ? getuid() : (uid_t)steps[i].uid, steps[i].method,
				      steps[i].path, steps[i].body);
		if (status == steps[i].status && says(f, steps[i].has) && !(steps[i].lacks && says(f, steps[i].lacks)))
			continue;
		print_error("%s %s: %d %.700s\n", steps[i].method, steps[i].path, status, strbuf_text(&f->a.body));
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, site_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wrong_bodies),
		TEST(wrong_parameters),
		TEST(no_such_name),
		TEST(no_such_route),
		cmocka_unit_test_setup_teardown(requests_in_order, setup_past, site_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
