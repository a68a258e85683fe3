/*
 * test_forget.c - jobs that ended long ago are forgotten, with all that is kept of them by id,
 * while some that came before, between and after them stay.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rows.h"
#include "plan/plan.h"
#include "server/job/jobs.h"
#include "server/loop.h"
#include "server/server.h"
#include "support/bare.h"
#include "support/site.h"

#define NOW 1700000000
#define ROUNDS 12
#define EACH 300 /* jobs that come and go in one round: more than a page */

static int setup(void **state)
{
	return site_setup(state, "n1:cpus=4", NOW);
}

static void ask(struct site *f, const char *method, const char *path, const char *body, int status)
{
	if (site_ask(f, getuid(), method, path, body) != status)
		fail_msg("%s %s: %s", method, path, strbuf_text(&f->a.body));
}

static void time_passes(struct site *f, int64_t *now)
{
	bare_clock((*now += 100) * 1000000);
	for (int i = 0; i < 5; i++)
		server_turn(f->s);
}

/* Submits a request with many jobs and an array, and deletes them. */
static void come_and_go(struct site *f)
{
	struct strbuf body = {0};

	strbuf_puts(&body, "{\"jobs\":[");
	for (int i = 0; i < EACH / 2; i++)
		strbuf_puts(&body, "{\"script\":\"true\",\"hold\":\"u\"},");
	strbuf_printf(&body, "{\"script\":\"true\",\"hold\":\"u\",\"array\":\"1-%d\"}]}", EACH / 2);
	ask(f, "POST", "/v1/jobs", body.text, 201);
	strbuf_fini(&body);
	ask(f, "POST", "/v1/jobs/delete", "{\"filter\":{\"name\":\"STDIN\"}}", 200);
}

/* Submits a job that stays. */
static void stays(struct site *f, int i)
{
	char body[100];

	snprintf(body, sizeof body, "{\"script\":\"true\",\"name\":\"stays%d\",\"hold\":\"u\"}", i);
	ask(f, "POST", "/v1/jobs", body, 201);
}

/* Checks that the list has exactly the jobs that stay, in their order, by pages of one. */
static void list_check(struct site *f, int n, const char *filter)
{
	char path[200], next[64] = "";

	for (int i = 0; i < n; i++) {
		json_t *o;
		char name[32];
		snprintf(path, sizeof path, "/v1/jobs?limit=1&fields=name%s%s%s", filter, *next ? "&after=" : "", next);
		ask(f, "GET", path, NULL, 200);
		o = json_loads(f->a.body.text, 0, NULL);
		snprintf(name, sizeof name, "stays%d", i);
		assert_int_equal(json_array_size(json_object_get(o, "jobs")), 1);
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(json_object_get(o, "jobs"), 0), "name")),
			name);
		const char *more = json_string_value(json_object_get(o, "next"));
		if (i == n - 1)
			assert_null(more);
		else
			assert_non_null(more);
		snprintf(next, sizeof next, "%s", more ? more : "");
		json_decref(o);
	}
}

/* Entries of a large array are on several pages. */
static void an_array_on_several_pages(void **state)
{
	struct site *f = *state;

	ask(f, "POST", "/v1/jobs", "{\"script\":\"true\",\"hold\":\"u\",\"array\":\"1-700\"}", 201);
	ask(f, "POST", "/v1/jobs/delete", "{\"ids\":[\"1[255]\",\"1[600]\"]}", 200);
	ask(f, "GET", "/v1/jobs/1[]/elements", NULL, 200);
	assert_non_null(strstr(f->a.body.text, "\"held\":\"1-254,256-599,601-700\""));
	assert_non_null(strstr(f->a.body.text, "\"cancelled\":\"255,600\""));
}

static void rows_stay_bounded(void **state)
{
	struct site *f = *state;
	const struct jobs *jobs = f->s->jobs;
	int64_t now = NOW;
	uint32_t first, bound;

	assert_int_equal(site_set(f, "keep_completed", "10"), 200);
	for (int i = 0; i < ROUNDS; i++) {
		stays(f, i);
		come_and_go(f);
		if (i == ROUNDS / 2) /* plan and scheduler are made again */
			assert_int_equal(site_set(f, "policy", "conservative"), 200);
		time_passes(f, &now);
	}
	stays(f, ROUNDS);
	assert_true(jobs->entries.n > ROUNDS * EACH);
	/* one page for each job that stays, and the first and the last */
	bound = (ROUNDS + 3) * ROWS_PAGE;
	assert_true(rows_left(&jobs->entries) <= bound && rows_left(&jobs->entries) < jobs->entries.n);
	assert_int_equal(rows_left(&f->s->cluster->jobs), rows_left(&jobs->entries));
	assert_true(rows_left(&f->s->plan->holds) <= rows_left(&jobs->entries));
	assert_true(jobs->arrays.n <= 2);
	list_check(f, ROUNDS + 1, "");
	list_check(f, ROUNDS + 1, "&arrays=expand");
	ask(f, "GET", "/v1/jobs?order=schedule", NULL, 200);

	struct strbuf own = {0};
	strbuf_printf(&own, "&user=%s", getuid() ? getenv("USER") : "root");
	list_check(f, ROUNDS + 1, own.text);
	strbuf_fini(&own);
	ask(f, "GET", "/v1/jobs/1/why", NULL, 200);
	plan_check(f->s->plan);

	/* now these end as well, and all pages go but those of the first row and the last */
	first = jobs->entries.n;
	ask(f, "POST", "/v1/jobs/delete", "{\"filter\":{}}", 200);
	come_and_go(f);
	time_passes(f, &now);
	assert_true(jobs->entries.n > first);
	assert_in_range(rows_left(&jobs->entries), 1, 3 * ROWS_PAGE);
	ask(f, "GET", "/v1/jobs", NULL, 200);
	assert_non_null(strstr(f->a.body.text, "\"jobs\":[]"));
	assert_int_equal(jobs->total, 0);

	stays(f, 0);
	list_check(f, 1, "");
	site_reopen(f);
	list_check(f, 1, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rows_stay_bounded, setup, site_teardown),
		cmocka_unit_test_setup_teardown(an_array_on_several_pages, setup, site_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
