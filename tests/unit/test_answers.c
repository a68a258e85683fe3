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
		if (strncmp(route->path, "/v1/jobs/", 9) == 0 && !json_object_get(body, "ids"))
			json_object_set_new(body, "ids", json_pack("[s]", "1"));
		n += members_try(f, route, route->body, path_with(route, "1", &path), body);
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
	char value[64];

	for (const struct route *route = routes; route < routes + nroutes; route++)
		for (const struct field *q = route->query; q && q->name; q++)
			for (int i = 0; i < 4; i++) {
				snprintf(value, sizeof value,
					 i == 0	  ? "x"
					 : i == 1 ? "-1"
					 : i == 2 ? ""
						  : "%lld",
					 (long long)q->most + 1);
				if (q->words ? i == 3 : !(q->is & (IS_INT | IS_INSTANT)) || (i == 3 && !q->most))
					continue;
				path_with(route, "1", &path);
				strbuf_printf(&path, "?%s=%s", q->name, value);
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, site_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wrong_bodies),
		TEST(wrong_parameters),
		TEST(no_such_name),
		TEST(no_such_route),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
